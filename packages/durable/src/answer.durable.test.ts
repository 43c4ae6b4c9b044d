import { randomBytes } from 'node:crypto'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { AnswerError, CheckpointMissingError, createAgent, tool, UnknownInterruptError } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { QUESTION, recordedRuns } from '../test/recorded-runs.ts'
import { scripted, status } from '../test/runs.ts'
import { DurableStoreError, type Engine } from './index.ts'

const { here, runsOf, work, executed, look, ask, agentOf } = recordedRuns()

test('the first of two answers to one question counts, and an answer to an unknown question is refused (DU7, DU8)', async () => {
  const runs = runsOf(agentOf(QUESTION))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const [question] = (await runs.get('run'))?.interrupts ?? []
  const id = question?.id ?? ''
  expect(question?.payload).toBe('Really?')
  await expect(runs.answer('run', { other: 'yes' })).rejects.toThrow(UnknownInterruptError)
  await runs.answer('run', { [id]: 'yes' })
  await runs.answer('run', { [id]: 'no' })
  expect((await runs.result('run')).text).toBe('Thanks.')
  expect(executed).toEqual(['ask yes'])
  // After the end it is still not an error.
  await runs.answer('run', { [id]: 'no' })
})

test('an answer after which the engine cannot wake the run leaves the question open, and the same answer again wakes it (DU7)', async () => {
  let isDown = false
  const engine: Engine = {
    ...here.engine,
    async wake(id, options) {
      if (isDown) throw new Error('the engine is down')
      await here.engine.wake(id, options)
    },
  }
  const runs = runsOf(agentOf(QUESTION), { engine })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const [question] = (await runs.get('run'))?.interrupts ?? []
  const id = question?.id ?? ''
  isDown = true
  await expect(runs.answer('run', { [id]: 'yes' })).rejects.toThrow(DurableStoreError)
  expect(await runs.get('run')).toMatchObject({ status: 'interrupted', interrupts: [{ id }] })
  isDown = false
  await runs.answer('run', { [id]: 'yes' })
  expect((await runs.result('run')).text).toBe('Thanks.')
  expect(executed).toEqual(['ask yes'])
})

test('a question about a call with a very long id, as some gateways make, accepts one answer (DU7, W51)', async () => {
  const callId = `call_${randomBytes(6_000).toString('base64')}`
  const agent = agentOf([respond(call('ask', {}, { id: callId })), respond(say('Thanks.'))])
  const runs = runsOf(agent)
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
  expect(id.length).toBeGreaterThan(8_000)
  await runs.answer('run', { [id]: 'yes' })
  await runs.answer('run', { [id]: 'no' })
  expect((await runs.result('run')).text).toBe('Thanks.')
  expect(executed).toEqual(['ask yes'])
})

test('an answer that does not match the schema of its question or asker is refused before it is stored, and another one is accepted (P17)', async () => {
  const even = tool({ ...ask, answer: z.string().refine((said) => said.length % 2 === 0, 'must be even') })
  const runs = runsOf(agentOf(QUESTION, { tools: [even] }))
  const stranger = runsOf(createAgent({ name: 'other', model: scripted() }))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
  await expect(runs.answer('run', { [id]: 'odd' })).rejects.toThrow(AnswerError)
  await expect(runs.answer('run', { [id]: 'even', other: 'even' })).rejects.toThrow(UnknownInterruptError)
  // It does not have the agent, only the JSON Schema of the question.
  await expect(stranger.answer('run', { [id]: 4 })).rejects.toThrow(AnswerError)
  expect((await here.pool.query(`SELECT * FROM ${here.schema}.answers`)).rows).toEqual([])
  expect(await runs.get('run')).toMatchObject({ status: 'interrupted', attempts: 1 })
  await runs.answer('run', { [id]: 'yeah' })
  expect((await runs.result('run')).text).toBe('Thanks.')
  expect(executed).toEqual(['ask yeah'])
})

test('an answer that only the worker refuses is dropped, and the question accepts another one (P17)', async () => {
  const even = tool({ ...ask, answer: z.string().refine((said) => said.length % 2 === 0, 'must be even') })
  await work(runsOf(agentOf(QUESTION, { tools: [even] })))
  const runs = runsOf(createAgent({ name: 'other', model: scripted() }), {
    agents: [agentOf(QUESTION, { tools: [look] })],
  })
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
  await runs.answer('run', { [id]: 'odd' })
  await vi.waitFor(async () => expect((await runs.get('run'))?.error?.name).toBe('AnswerError'), { timeout: 60_000 })
  expect((await runs.get('run'))?.status).toBe('interrupted')
  await runs.answer('run', { [id]: 'even' })
  expect((await runs.result('run')).text).toBe('Thanks.')
  expect((await runs.get('run'))?.error).toBeUndefined()
  expect(executed).toEqual(['ask even'])
})

test('an answer to a run whose checkpoint is deleted is refused, and the run fails (DU1)', async () => {
  const runs = runsOf(agentOf(QUESTION))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
  await here.pool.query(`TRUNCATE ${here.schema}.checkpoints`)
  await expect(runs.answer('run', { [id]: 'yes' })).rejects.toThrow(CheckpointMissingError)
  await expect(runs.result('run')).rejects.toMatchObject({ error: { name: 'CheckpointMissingError' } })
  expect(executed).toEqual([])
})

test('a run that waits for its answer occupies no worker, and any worker continues it', async () => {
  const starter = runsOf(agentOf(QUESTION))
  const first = await work(runsOf(agentOf(QUESTION)))
  await starter.start('clerk', 'Go', { id: 'run' })
  await status(starter, 'run', 'interrupted')
  await first.stop()
  const id = (await starter.get('run'))?.interrupts[0]?.id ?? ''
  await starter.answer('run', { [id]: 'yes' })
  await starter.answer('run', { [id]: 'no' })
  expect((await starter.get('run'))?.status).toBe('running')
  await work(runsOf(agentOf(QUESTION)))
  expect((await starter.result('run')).text).toBe('Thanks.')
  expect(executed).toEqual(['ask yes'])
})
