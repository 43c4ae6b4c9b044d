/** Starts another library in a separate process, which sees the packages of the user's folder and not ours. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { z } from 'zod'
import { type Contestant, PROMPT, type Ran, type Subject } from '../contestant.ts'
import { type Library, loopRun } from '../drop-ins/loops.ts'
import type { PeerName } from '../modes.ts'
import { callsOf } from '../scenario.ts'
import { DESCRIPTION } from '../tools.ts'
import type { FromPeer, Loading, PeerJob, ToPeer } from './peer-process.ts'

export interface Peer extends AsyncDisposable {
  readonly run: Contestant
  /** User time of its process when its last run ended, or before the first; in milliseconds. */
  cpuUserMs(): number
}

/** The library does not load, a run of it failed, or its process has ended. */
export class PeerError extends Error {
  override readonly name = 'PeerError'
}

export interface PeerPlace {
  /** The folder in which the library is installed. */
  readonly folder: string
  /** The library whose drop-in is also loaded. Default: none. */
  readonly dropIn?: Library
}

/** Rejects with a {@link PeerError} with the reason why the library cannot be driven. */
export async function spawnPeer(name: PeerName, { folder, dropIn }: PeerPlace, signal: AbortSignal): Promise<Peer> {
  const child = spawn(process.execPath, [...FLAGS, '--eval', programOf(name, dropIn)], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...QUIET },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    signal,
  })
  const waiting = new Map<number, { resolve(ran: Ran): void; reject(error: unknown): void }>()
  let asked = 0
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-LAST_WORDS)))
  const gone = (): PeerError => new PeerError(`the process of ${name} has ended: ${said.trim()}`)
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))

  const first = await firstMessage(child)
  if (!first) throw gone()
  if ('problem' in first) {
    child.kill()
    throw new PeerError(first.problem)
  }
  child.on('message', take)
  child.on('error', fail)
  child.once('close', () => fail(gone()))
  let { cpuUserMs } = first
  return { run, cpuUserMs: () => cpuUserMs, [Symbol.asyncDispose]: close }

  async function run(subject: Subject, { url }: Parameters<Contestant>[1], stop: AbortSignal): Promise<Ran> {
    stop.throwIfAborted()
    const id = ++asked
    const outcome = new Promise<Ran>((resolve, reject) => waiting.set(id, { resolve, reject }))
    const cancel = (): void => {
      tell({ cancel: id })
      waiting.get(id)?.reject(stop.reason)
    }
    stop.addEventListener('abort', cancel, { once: true })
    try {
      tell(jobOf(id, subject, url))
      return await outcome
    } finally {
      stop.removeEventListener('abort', cancel)
      waiting.delete(id)
    }
  }

  function take(message: FromPeer): void {
    if ('cpuUserMs' in message) cpuUserMs = message.cpuUserMs
    if ('ran' in message) waiting.get(message.id)?.resolve(message.ran)
    else if ('error' in message) waiting.get(message.id)?.reject(new PeerError(message.error))
  }

  function tell(message: ToPeer): void {
    if (child.connected) child.send(message, (error) => error && fail(error))
    else fail(gone())
  }

  function fail(error: Error): void {
    for (const { reject } of waiting.values()) reject(error)
  }

  async function close(): Promise<void> {
    child.kill()
    await ended
  }
}

const FLAGS = ['--conditions=@meanwhile/source', '--no-warnings', '--input-type=module']

/** Code from the command line imports from the folder in which it runs; our modules import from their own folders. */
function programOf(name: PeerName, dropIn: Library | undefined): string {
  const program = JSON.stringify(new URL('./peer-process.ts', import.meta.url).href)
  const [peer, its] = [JSON.stringify(name), JSON.stringify(dropIn)]
  return `const { serve } = await import(${program}); await serve(${peer}, (name) => import(name), ${its})`
}

/** Undefined if the process ends before its first message. */
async function firstMessage(child: ChildProcess): Promise<Loading | undefined> {
  const message = once(child, 'message').then(([message]) => message as Loading)
  return await Promise.race([message, once(child, 'close').then(() => undefined)])
}

function jobOf(id: number, { scenario, wire, mode }: Subject, url: string): PeerJob {
  const tools = scenario.tools.map(({ name, description = DESCRIPTION, input }) => {
    const { $schema: _, ...schema } = z.toJSONSchema(input)
    return { name, description, schema }
  })
  const durations = new Map(callsOf(scenario).map((call) => [call.id, call.toolMs]))
  const { loop, isEager = false } = loopRun(mode) ?? {}
  const effects = Object.fromEntries(scenario.tools.map(({ name, effect }) => [name, effect]))
  return {
    id,
    wire,
    url,
    prompt: PROMPT,
    tools,
    durations,
    ...(loop && { loop: loop.name }),
    ...(loop && isEager && { eager: { effects, alwaysStream: !loop.streams, ...(loop.adds && { adds: loop.adds }) } }),
  }
}

/** No key, no traces, no usage statistics. */
const QUIET = {
  OPENAI_API_KEY: 'none',
  ANTHROPIC_API_KEY: 'none',
  DO_NOT_TRACK: '1',
  LANGCHAIN_TRACING_V2: 'false',
  LANGSMITH_TRACING: 'false',
  MASTRA_TELEMETRY_DISABLED: '1',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
}

/** How much of its standard error is kept for the message if it ends. */
const LAST_WORDS = 500
