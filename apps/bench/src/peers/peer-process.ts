/** The program of a library's own process: it makes the runs that the parent asks for over IPC, and ends with it. */

import { messageOf } from '@meanwhile/core'
import { clock } from '@meanwhile/harness/server'
import type { Ran } from '../contestant.ts'
import type { PeerName } from '../modes.ts'
import { measuredWork, type ToolRun } from '../tools.ts'
import type { Driver, Load, PeerRun, PeerTask } from './driver.ts'
import { ai } from './drivers/ai.ts'
import { langchain } from './drivers/langchain.ts'
import { mastra } from './drivers/mastra.ts'
import { openaiAgents } from './drivers/openai-agents.ts'

/** A run, as data. */
export interface PeerJob extends Omit<PeerTask, 'work' | 'signal'> {
  readonly id: number
  /** By call id, in milliseconds. */
  readonly durations: ReadonlyMap<string, number>
}

export type ToPeer = PeerJob | { readonly cancel: number }

export type FromPeer =
  | { readonly ready: true }
  | { readonly problem: string }
  | { readonly id: number; readonly ran: Ran }
  | { readonly id: number; readonly error: string }

const DRIVERS: Readonly<Record<PeerName, Driver>> = {
  ai,
  '@openai/agents': openaiAgents,
  langchain,
  '@mastra/core': mastra,
}

/** `load` imports from where the process was started. */
export async function serve(name: PeerName, load: Load): Promise<void> {
  const going = new Map<number, AbortController>()
  const run = DRIVERS[name](load)
  process.on('disconnect', () => process.exit())
  process.on('message', (message: ToPeer) => {
    if ('cancel' in message) return going.get(message.cancel)?.abort()
    const stop = new AbortController()
    going.set(message.id, stop)
    run
      .then((made) => ranOf(message, made, stop.signal))
      .then(
        (ran) => send({ id: message.id, ran }),
        (error: unknown) => send({ id: message.id, error: messageOf(error) }),
      )
      .finally(() => going.delete(message.id))
      .catch(() => process.exit(1))
  })
  await run.then(
    () => send({ ready: true }),
    (error: unknown) => send({ problem: messageOf(error) }),
  )
}

async function ranOf({ durations, ...task }: PeerJob, run: PeerRun, signal: AbortSignal): Promise<Ran> {
  const tools: ToolRun[] = []
  const work = measuredWork(({ callId }) => durations.get(callId) ?? 0, tools)
  const cpu = process.cpuUsage()
  const began = clock()
  const text = await run({ ...task, work, signal })
  const ended = clock()
  return { text, tools, began, ended, cpuUserMs: process.cpuUsage(cpu).user / 1000 }
}

function send(message: FromPeer): void {
  process.send?.(message)
}
