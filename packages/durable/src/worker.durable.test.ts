import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { QUESTION, recordedRuns, TWO_STEPS } from '../test/recorded-runs.ts'
import { scripted, status } from '../test/runs.ts'
import { durableRuns, type Engine } from './index.ts'

const { here, runsOf, work, executed, look, post, gate, agentOf } = recordedRuns()

test('a worker that was considered dead and then fails does not fail the run, which another worker has (DU2)', async () => {
  const taken: (() => Promise<void>)[] = []
  const rash: Engine = {
    wake: async () => {},
    async work(advance) {
      taken.push(() => advance('run', { signal: new AbortController().signal }))
      return { stop: async () => {} }
    },
  }
  let fail = () => {}
  let asked = () => {}
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const broken = agentOf([], {
    model: {
      provider: 'broken',
      id: 'broken',
      async *stream() {
        asked()
        await new Promise<void>((resolve) => {
          fail = resolve
        })
        throw new TypeError('the connection is old')
      },
    },
  })
  const held = gate('hold')
  const healthy = agentOf([respond(call('hold')), respond(say('Done.'))], { tools: [held.tool] })
  await work(runsOf(broken, { engine: rash }))
  await work(runsOf(healthy, { engine: rash }))
  const runs = runsOf(healthy, { engine: rash })
  await runs.start('clerk', 'Go', { id: 'run' })
  const dying = taken[0]?.()
  await isAsked
  // The question is saved.
  await vi.waitFor(
    async () => {
      const { rows } = await here.pool.query(`SELECT revision FROM ${here.schema}.checkpoints`)
      expect(rows).toEqual([{ revision: '3' }])
    },
    { timeout: 60_000 },
  )
  const going = taken[1]?.()
  await held.entered
  fail()
  await dying
  expect((await runs.get('run'))?.status).toBe('running')
  held.open()
  await going
  expect((await runs.result('run')).text).toBe('Done.')
})

test('a worker that lacks an agent or a tool lets others try, and in the end the run fails with an error that names what is missing (DU15)', async () => {
  const ignorant = durableRuns({
    agents: [createAgent({ name: 'other', model: scripted() })],
    store: postgresStore(here),
    pool: here.pool,
    engine: here.engine,
    schema: here.schema,
    maxAttempts: 4,
  })
  const knowing = runsOf(agentOf(TWO_STEPS))
  const first = await work(ignorant)
  await knowing.start('clerk', 'Go', { id: 'lacking' })
  await expect(knowing.result('lacking')).rejects.toMatchObject({ error: { name: 'UnknownAgentError' } })
  expect((await knowing.get('lacking'))?.attempts).toBe(4)
  await knowing.retry('lacking')
  await first.stop()
  await work(knowing)
  expect((await knowing.result('lacking')).text).toBe('Done.')
})

test('a worker that lacks the tool of an open call leaves the run to one that has it (DU15)', async () => {
  const starter = runsOf(agentOf(QUESTION))
  const first = await work(runsOf(agentOf(QUESTION)))
  await starter.start('clerk', 'Go', { id: 'run' })
  await status(starter, 'run', 'interrupted')
  await first.stop()
  const id = (await starter.get('run'))?.interrupts[0]?.id ?? ''
  const older = await work(runsOf(agentOf(QUESTION, { tools: [look] })))
  await starter.answer('run', { [id]: 'yes' })
  await vi.waitFor(async () => expect((await starter.get('run'))?.attempts).toBeGreaterThan(3), 60_000)
  expect((await starter.get('run'))?.status).toBe('running')
  await older.stop()
  await work(runsOf(agentOf(QUESTION)))
  expect((await starter.result('run')).text).toBe('Thanks.')
})

test('a worker that stops returns its runs to the engine at a safe point, and another worker continues them', async () => {
  const held = gate('hold')
  const script = [respond(call('hold')), respond(call('post')), respond(say('Done.'))]
  const starter = runsOf(agentOf(script, { tools: [held.tool, post] }))
  const first = await work(runsOf(agentOf(script, { tools: [held.tool, post] })))
  await starter.start('clerk', 'Go', { id: 'run' })
  await held.entered
  const stopping = first.stop()
  held.open()
  await stopping
  expect([executed, (await starter.get('run'))?.status]).toEqual([['hold'], 'running'])
  await work(runsOf(agentOf(script, { tools: [held.tool, post] })))
  const result = await starter.result('run')
  expect([executed, result.unknown]).toEqual([['hold', 'post'], undefined])
})

test('a worker stops after its grace time, whatever its runs do', async () => {
  let enter = () => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  let leave = (_: string) => {}
  const left = new Promise<string>((resolve) => {
    leave = resolve
  })
  const stuck = tool({
    name: 'stuck',
    description: 'Hears nothing.',
    input: z.object({}),
    execute() {
      enter()
      return left
    },
  })
  const runs = runsOf(agentOf([respond(call('stuck')), respond(say('Done.'))], { tools: [stuck], grace: 60_000 }))
  const worker = await runs.work()
  await runs.start('clerk', 'Go', { id: 'run' })
  await entered
  await worker.stop({ grace: 300 })
  expect((await runs.get('run'))?.status).toBe('running')
  leave('late')
})
