/** Sets up durable runs for a test, each test in its own tables. */

import { respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import type { Agent, AgentEvent, Message, Model } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import type { Pool } from 'pg'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import {
  type Advance,
  type DurableOptions,
  type DurableRuns,
  type DurableWorker,
  durableRuns,
  type Engine,
  type ReadEvent,
} from '../src/index.ts'
import { memoryEngine } from '../src/testing.ts'
import { type TestDatabase, testDatabase } from './database.ts'

export interface TestRuns {
  readonly database: TestDatabase
  /** The same for all tests of a file. */
  readonly pool: Pool
  /** Another one for each test. */
  readonly schema: string
  readonly engine: Engine
  /** The runs as one process has them. */
  runsOf(agent: Agent, options?: Partial<DurableOptions>): DurableRuns
  /** Starts a worker, which stops when the test ends. */
  work(runs: DurableRuns): Promise<DurableWorker>
}

export function testRuns(): TestRuns {
  const database = testDatabase()
  const workers: DurableWorker[] = []
  let pool: Pool | undefined
  let schema = ''
  let engine = memoryEngine()
  beforeEach(async () => {
    pool ??= database.pool(20)
    schema = await database.schema()
    engine = memoryEngine()
  })
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop({ grace: 2_000 })))
  })
  const shared = (): Pool => {
    if (!pool) throw new Error('the test has not started')
    return pool
  }
  return {
    database,
    get pool() {
      return shared()
    },
    get schema() {
      return schema
    },
    get engine() {
      return engine
    },
    runsOf: (agent, options = {}) =>
      durableRuns({
        agents: [agent],
        store: postgresStore({ pool: shared(), schema }),
        pool: shared(),
        engine,
        schema,
        ...options,
      }),
    async work(runs) {
      const worker = await runs.work()
      workers.push(worker)
      return worker
    },
  }
}

/** An engine whose calls a test makes: `advance(1, id)` calls the second worker. */
export function manualEngine() {
  const workers: Advance[] = []
  const engine: Engine = {
    wake: async () => {},
    async work(advance) {
      workers.push(advance)
      return { stop: async () => {} }
    },
  }
  const advance = async (worker: number, id: string): Promise<void> => {
    await workers[worker]?.(id, { signal: new AbortController().signal })
  }
  return { engine, advance }
}

/** A model that returns the response at the index that is the number of its answers in the history. */
export function scripted(...responses: readonly ScriptResponse[]): Model {
  return {
    provider: 'scripted',
    id: 'scripted-1',
    stream(request) {
      const step = request.messages.filter(({ role }) => role === 'assistant').length
      return scriptedModel([responses[step] ?? respond(say('As you say.'))]).stream(request)
    },
  }
}

export async function status(runs: DurableRuns, id: string, wanted: string): Promise<void> {
  await vi.waitFor(async () => expect((await runs.get(id))?.status).toBe(wanted), { timeout: 60_000, interval: 10 })
}

export async function all(reading: AsyncIterable<ReadEvent>): Promise<ReadEvent[]> {
  const read: ReadEvent[] = []
  for await (const one of reading) read.push(one)
  return read
}

/** Builds the history from the events that a reader receives. */
export function fold(read: readonly ReadEvent[]): readonly Message[] {
  let messages: readonly Message[] = []
  for (const event of read.map((one) => one.event) as readonly AgentEvent[]) {
    if (event.type === 'history-replaced') messages = event.messages
    if (event.type === 'message' && !event.path) messages = [...messages, event.message]
  }
  return messages
}
