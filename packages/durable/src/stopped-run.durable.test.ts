import { call, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, interrupt, type Message, textOf, tool } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import type { Pool } from 'pg'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { testDatabase } from '../test/database.ts'
import { type DurableRuns, type DurableWorker, durableRuns, type Engine, type StoppedRun } from './index.ts'
import { memoryEngine } from './testing.ts'

const database = testDatabase()
let pool: Pool
let schema: string
let engine: Engine
const workers: DurableWorker[] = []

beforeAll(() => {
  pool = database.pool()
})

beforeEach(async () => {
  schema = await database.schema()
  engine = memoryEngine()
})

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop({ grace: 2_000 })))
})

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  execute: (_, { answers: [said] }) => (typeof said === 'string' ? `They said ${said}.` : interrupt('Really?')),
})

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'seen',
})

/** Runs until its run is cancelled. */
const hold = tool({
  name: 'hold',
  description: 'Holds.',
  input: z.object({}),
  execute: (_, { signal }) =>
    new Promise<string>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
})

function agentOf(...responses: readonly ScriptResponse[]): Agent {
  const reply = ({ messages }: { readonly messages: readonly Message[] }) =>
    responses[messages.filter(({ role }) => role === 'assistant').length] ?? respond(say('As you say.'))
  const model = scriptedModel(Array.from({ length: 20 }, () => reply))
  return createAgent({ name: 'clerk', model, tools: [ask, look, hold] })
}

const QUESTION = [respond(call('look'), call('ask')), respond(say('Thanks.'))]

async function runsOf(agent: Agent, listener: (run: StoppedRun) => Promise<void>): Promise<DurableRuns> {
  const runs = durableRuns({ agents: [agent], store: postgresStore({ pool, schema }), pool, engine, schema })
  runs.onStopped(listener)
  workers.push(await runs.work())
  return runs
}

/** A short form of the stop's outcome. */
async function brief(run: StoppedRun, reason?: string) {
  const { messages = [], text, interrupts = [], settled = [] } = await run.outcome(reason)
  const said = messages.map((message) => `${message.role}: ${textOf(message)}`)
  return {
    status: run.status,
    said,
    text: text || undefined,
    asks: interrupts.length,
    settled: settled.map(({ name }) => name),
  }
}

test('a listener in the worker receives each stop of a run with its outcome, before readers of the run see the stop (TH6)', async () => {
  const heard: unknown[] = []
  const runs = await runsOf(agentOf(...QUESTION), async (run) => {
    heard.push([run.attempts, run.data, await brief(run)])
  })
  await runs.start('clerk', 'Go', { id: 'run', data: { user: 'ada' } })
  await vi.waitFor(() => expect(heard).toHaveLength(1), { timeout: 60_000 })
  const [question] = (await runs.get('run'))?.interrupts ?? []
  await runs.answer('run', { [question?.id ?? '']: 'yes' })
  await runs.result('run')
  const before = ['user: Go', 'assistant: ']
  const after = [...before, 'tool: seen', 'tool: They said yes.', 'assistant: Thanks.']
  expect(heard).toEqual([
    [1, { user: 'ada' }, { status: 'interrupted', said: before, asks: 1, settled: ['look'] }],
    [2, { user: 'ada' }, { status: 'completed', said: after, text: 'Thanks.', asks: 0, settled: [] }],
  ])
})

test('a stop is delivered again until its listener succeeds, each time with the stored outcome (TH6)', async () => {
  const heard: unknown[] = []
  let fails = 2
  const runs = await runsOf(agentOf(...QUESTION), async (run) => {
    if (--fails > 0) throw new Error('not now')
    heard.push(await brief(run))
    fails = 2
  })
  await runs.start('clerk', 'Go', { id: 'run' })
  await vi.waitFor(() => expect(heard).toHaveLength(1), { timeout: 60_000 })
  const [question] = (await runs.get('run'))?.interrupts ?? []
  await runs.answer('run', { [question?.id ?? '']: 'yes' })
  await vi.waitFor(() => expect(heard).toHaveLength(2), { timeout: 60_000 })
  const before = ['user: Go', 'assistant: ']
  const after = [...before, 'tool: seen', 'tool: They said yes.', 'assistant: Thanks.']
  expect(heard).toEqual([
    { status: 'interrupted', said: before, asks: 1, settled: ['look'] },
    { status: 'completed', said: after, text: 'Thanks.', asks: 0, settled: [] },
  ])
})

test('cancelling a run that waits for an answer is a stop, and its open calls get the reason as their result (TH3)', async () => {
  const heard: unknown[] = []
  const runs = await runsOf(agentOf(...QUESTION), async (run) => {
    heard.push(await brief(run, 'Nobody answered.'))
  })
  await runs.start('clerk', 'Go', { id: 'run' })
  await vi.waitFor(() => expect(heard).toHaveLength(1), { timeout: 60_000 })
  await runs.cancel('run')
  await vi.waitFor(() => expect(heard).toHaveLength(2), { timeout: 60_000 })
  const said = ['user: Go', 'assistant: ', 'tool: seen', 'tool: Nobody answered.']
  expect(heard[1]).toEqual({ status: 'cancelled', said, asks: 0, settled: [] })
  // Its calls were closed only for the listener.
  await runs.retry('run')
  await vi.waitFor(() => expect(heard).toHaveLength(3), { timeout: 60_000 })
  expect(heard[2]).toMatchObject({ status: 'interrupted', asks: 1 })
})

test('a run that is deleted while a tool is running stops, and no listener is called', async () => {
  const heard: unknown[] = []
  const runs = await runsOf(agentOf(respond(call('hold'))), async (run) => {
    heard.push(run.status)
  })
  await runs.start('clerk', 'Go', { id: 'run' })
  for await (const { event } of runs.events('run')) if (event.type === 'tool-entered') break
  await runs.delete('run')
  const begun = Date.now()
  await Promise.all(workers.splice(0).map((worker) => worker.stop({ grace: 100_000 })))
  expect(Date.now() - begun).toBeLessThan(60_000)
  expect([heard, await runs.get('run')]).toEqual([[], undefined])
})

test('a reader that does not follow gets the stored events, and ends', async () => {
  const runs = await runsOf(agentOf(respond(call('hold'))), async () => {})
  await runs.start('clerk', 'Go', { id: 'run' })
  for await (const { event } of runs.events('run')) if (event.type === 'tool-entered') break
  const types: string[] = []
  let last = ''
  for await (const { cursor, event } of runs.events('run', { follow: false })) {
    types.push(event.type)
    last = cursor
  }
  expect([types[0], types.includes('tool-entered'), types.includes('run-stopped')]).toEqual(['run-start', true, false])
  for await (const one of runs.events('run', { follow: false, after: last })) types.push(one.cursor)
  expect(types.filter((type) => type.includes('.'))).toEqual([])
  await runs.cancel('run')
})
