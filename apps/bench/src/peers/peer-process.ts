/** The program of a library's own process: it makes the runs that the parent requests over IPC, and ends with the parent. */

import { type Effect, messageOf } from '@meanwhile/core'
import { clock } from '@meanwhile/harness/server'
import type { Ran } from '../contestant.ts'
import type { Library } from '../drop-ins/loops.ts'
import type { PeerName } from '../modes.ts'
import { measuredWork, type ToolRun } from '../tools.ts'
import { exportsOf, type Load, type PeerRun, type PeerTask } from './driver.ts'
import { DRIVERS } from './drivers.ts'

/** A run, as data. */
export interface PeerJob extends Omit<PeerTask, 'work' | 'signal' | 'dropIn'> {
  readonly id: number
  /** By call id, in milliseconds. */
  readonly durations: ReadonlyMap<string, number>
  /** The settings of the drop-in; absent: the loop runs without it. */
  readonly eager?: EagerTerms
}

interface EagerTerms {
  readonly effects: Readonly<Record<string, Effect>>
  readonly alwaysStream: boolean
  /** Instead of `eager()`. */
  readonly adds?: 'resilient'
}

export type ToPeer = PeerJob | { readonly cancel: number }

/** Whether the library has loaded. `cpuUserMs` is the user time of the process up to then. */
export type Loading = { readonly ready: true; readonly cpuUserMs: number } | { readonly problem: string }

/** The outcome of a run. */
export type FromPeer =
  | { readonly id: number; readonly ran: Ran; readonly cpuUserMs: number }
  | { readonly id: number; readonly error: string }

type DropIn = <Wrapped extends object>(
  wrapped: Wrapped,
  effects: EagerTerms['effects'],
  settings: { readonly alwaysStream: boolean },
) => Wrapped

type Resilient = (models: readonly unknown[]) => object

/** The module of each library's drop-in. */
const DROP_INS: Readonly<Record<Library, string>> = {
  ai: '@meanwhile/eager-tools/ai-sdk',
  langchain: '@meanwhile/eager-tools/langchain',
  '@openai/agents': '@meanwhile/eager-tools/openai-agents',
}

interface Loaded {
  readonly run: PeerRun
  readonly eager?: DropIn
  readonly resilient?: Resilient
}

/** `load` imports from the folder in which the process was started; `dropIn` is the library whose drop-in is also measured. */
export async function serve(name: PeerName, load: Load, dropIn?: Library): Promise<void> {
  const going = new Map<number, AbortController>()
  const loaded = loadedWith(name, load, dropIn)
  process.on('disconnect', () => process.exit())
  process.on('message', (message: ToPeer) => {
    if ('cancel' in message) return going.get(message.cancel)?.abort()
    const stop = new AbortController()
    going.set(message.id, stop)
    loaded
      .then((made) => ranOf(message, made, stop.signal))
      .then(
        (ran) => send({ id: message.id, ran, cpuUserMs: cpuUserMs() }),
        (error: unknown) => send({ id: message.id, error: messageOf(error) }),
      )
      .finally(() => going.delete(message.id))
      .catch(() => process.exit(1))
  })
  await loaded.then(
    () => send({ ready: true, cpuUserMs: cpuUserMs() }),
    (error: unknown) => send({ problem: messageOf(error) }),
  )
}

/** Everything is loaded before the first run, whose time it must not affect. */
async function loadedWith(name: PeerName, load: Load, dropIn: Library | undefined): Promise<Loaded> {
  const run = await DRIVERS[name](load)
  if (dropIn === undefined) return { run }
  const added = await exportsOf<{ eager: DropIn; resilient: Resilient }>(load, DROP_INS[dropIn], ['eager', 'resilient'])
  return { run, eager: added.eager, resilient: added.resilient }
}

async function ranOf(
  { durations, eager: terms, ...task }: PeerJob,
  { run, eager, resilient }: Loaded,
  signal: AbortSignal,
): Promise<Ran> {
  const tools: ToolRun[] = []
  const work = measuredWork(({ callId }) => durations.get(callId) ?? 0, tools)
  const dropIn = <Wrapped extends object>(wrapped: Wrapped): Wrapped => {
    if (terms?.adds && resilient) return { ...wrapped, model: resilient([Reflect.get(wrapped, 'model')]) }
    return terms && eager ? eager(wrapped, terms.effects, { alwaysStream: terms.alwaysStream }) : wrapped
  }
  const cpu = process.cpuUsage()
  const began = clock()
  const text = await run({ ...task, work, signal, dropIn })
  const ended = clock()
  return { text, tools, began, ended, cpuUserMs: process.cpuUsage(cpu).user / 1000 }
}

function cpuUserMs(): number {
  return process.cpuUsage().user / 1000
}

function send(message: Loading | FromPeer): void {
  process.send?.(message)
}
