/** A run that stores its checkpoints in SQLite, and the same run as a turn of a thread, in this process. */

import { join } from 'node:path'
import { type Agent, type CheckpointStore, createAgent } from '@meanwhile/core'
import { clock } from '@meanwhile/harness/server'
import { sqliteStore } from '@meanwhile/stores/sqlite'
import { createThreads, type ThreadStore } from '@meanwhile/threads'
import { sqliteThreads } from '@meanwhile/threads/sqlite'
import { modelOf } from '../agents.ts'
import { type Contestant, type Place, PROMPT, type Subject } from '../contestant.ts'
import { countedStore } from '../counted-store.ts'
import { MODE_OPTIONS } from '../modes.ts'
import { durationsOf, measuredTools, measuredWork, type ToolRun } from '../tools.ts'

/** `run`: `agent.stream` over `sqliteStore`. `turn`: `threads.send` over `sqliteThreads`. */
export type Way = 'run' | 'turn'

export const WAYS: readonly Way[] = ['run', 'turn']

export interface Cost {
  /** Milliseconds of this process's CPU time. */
  readonly cpuMs: number
  /** Writes that waited for the disk. */
  readonly synced: number
}

export interface Contestants extends Disposable {
  readonly contestant: Readonly<Record<Way, Contestant>>
  /** The cost of each run so far, by way. */
  readonly costs: Readonly<Record<Way, readonly Cost[]>>
}

/** Makes one run and returns its text. */
type Played = (agent: Agent, signal: AbortSignal) => Promise<string>

/** The databases are in this folder. */
export function openContestants(folder: string): Contestants {
  const store = sqliteStore(join(folder, 'run.db'))
  const threadStore = sqliteThreads(join(folder, 'turn.db'))
  const costs: Record<Way, Cost[]> = { run: [], turn: [] }
  let synced = 0
  const wrote = () => {
    synced++
  }
  const play: Record<Way, Played> = { run: (agent, signal) => playRun(agent, signal, countedStore(store, wrote)), turn }
  const countedThreads = countedThreadStore(threadStore, wrote)

  async function turn(agent: Agent, signal: AbortSignal): Promise<string> {
    const threads = createThreads({ agent, store: countedThreads })
    const { events, result } = await threads.send(crypto.randomUUID(), PROMPT)
    for await (const { type } of events({ signal })) void type
    return (await result).text
  }

  const contestantOf =
    (way: Way): Contestant =>
    async (subject, place, signal) => {
      const tools: ToolRun[] = []
      const agent = agentOf(subject, place, tools)
      synced = 0
      const cpu = process.cpuUsage()
      const began = clock()
      const text = await play[way](agent, signal)
      const ended = clock()
      const { user, system } = process.cpuUsage(cpu)
      costs[way].push({ cpuMs: (user + system) / 1000, synced })
      return { text, tools, began, ended, cpuUserMs: user / 1000 }
    }

  return {
    contestant: { run: contestantOf('run'), turn: contestantOf('turn') },
    costs,
    [Symbol.dispose]() {
      store.close()
      threadStore.close()
    },
  }
}

/** With a reader, like an application. */
async function playRun(agent: Agent, signal: AbortSignal, checkpoints: CheckpointStore): Promise<string> {
  const run = agent.stream(PROMPT, { signal, checkpoints })
  for await (const { type } of run) void type
  return (await run.result).text
}

function agentOf({ scenario, wire }: Subject, place: Place, runs: ToolRun[]): Agent {
  const work = measuredWork(durationsOf(scenario), runs)
  return createAgent({
    name: 'bench-threads',
    model: modelOf(wire, place),
    tools: measuredTools(scenario, work),
    ...MODE_OPTIONS.eager,
  })
}

function countedThreadStore(store: ThreadStore, wrote: () => void): ThreadStore {
  return {
    ...store,
    checkpoints: countedStore(store.checkpoints, wrote),
    async change(id, decide, options) {
      if (!options?.mayBeLost) wrote()
      return await store.change(id, decide, options)
    },
  }
}
