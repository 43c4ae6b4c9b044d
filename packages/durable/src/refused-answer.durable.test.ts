import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, tool } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { heldPool } from '../test/held-pool.ts'
import { manualEngine, scripted, testRuns } from '../test/runs.ts'

const here = testRuns()
const { runsOf, work } = here

const SCRIPT = [respond(call('ask')), respond(say('Thanks.'))]
const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  answer: z.string().refine((said) => said.length % 2 === 0, 'must be even'),
  execute: (_, { answers: [said] }) => (said === undefined ? interrupt('Really?') : 'answered'),
})
const clerk = createAgent({ name: 'clerk', model: scripted(...SCRIPT), tools: [ask] })
/** An older version of the agent, which accepts any answer. */
const older = createAgent({ name: 'clerk', model: scripted(...SCRIPT), tools: [tool({ ...ask, answer: z.string() })] })

test('a worker that has lost its run does not take back an answer that came after (DU2, DU8)', async () => {
  const { engine, advance } = manualEngine()
  const { pool, isHeld, release } = heldPool(here.pool, 'refused AS (DELETE FROM')
  await work(runsOf(clerk, { engine, pool, events: false }))
  await work(runsOf(clerk, { engine, events: false }))
  const runs = runsOf(older, { engine })
  await runs.start('clerk', 'Go', { id: 'run' })
  await advance(1, 'run')
  const [question] = (await runs.get('run'))?.interrupts ?? []
  const id = question?.id ?? ''
  await runs.answer('run', { [id]: 'odd' })
  const late = advance(0, 'run')
  await isHeld
  await advance(1, 'run')
  expect(await runs.get('run')).toMatchObject({ status: 'interrupted', error: { name: 'AnswerError' } })
  await runs.answer('run', { [id]: 'even' })
  release()
  await late
  const run = await runs.get('run')
  expect(run?.status).toBe('running')
  expect(run?.error).toBeUndefined()
  await advance(1, 'run')
  expect((await runs.result('run')).text).toBe('Thanks.')
})

test('the reason why an answer was refused stays until the next answer, however often the run is woken (P17)', async () => {
  const { engine, advance } = manualEngine()
  await work(runsOf(clerk, { engine }))
  const runs = runsOf(older, { engine })
  await runs.start('clerk', 'Go', { id: 'run' })
  await advance(0, 'run')
  const [question] = (await runs.get('run'))?.interrupts ?? []
  await runs.answer('run', { [question?.id ?? '']: 'odd' })
  await advance(0, 'run')
  await advance(0, 'run')
  expect(await runs.get('run')).toMatchObject({ status: 'interrupted', error: { name: 'AnswerError' } })
  await runs.answer('run', { [question?.id ?? '']: 'even' })
  expect((await runs.get('run'))?.error).toBeUndefined()
  await advance(0, 'run')
  expect((await runs.result('run')).text).toBe('Thanks.')
})
