import { call, respond } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, tool } from '@meanwhile/core'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { heldPool } from '../test/held-pool.ts'
import { scripted, status, testRuns } from '../test/runs.ts'

const trial = testRuns()
const held: { release(): void }[] = []

afterEach(() => {
  for (const one of held.splice(0)) one.release()
})

/** A pool that holds back the first statement with this text. */
function holding(text: string) {
  const made = heldPool(trial.pool, text)
  held.push(made)
  return made
}

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  execute: () => interrupt('Really?'),
})

const clerk = createAgent({ name: 'clerk', model: scripted(respond(call('ask'))), tools: [ask] })

test('a run that is cancelled just before it begins to wait for an answer is cancelled (DU7)', async () => {
  const { pool, isHeld, release } = holding('SET rerun = NULL, stopped_at_attempt')
  const worker = trial.runsOf(clerk, { pool })
  await trial.work(worker)
  const { id } = await worker.start('clerk', 'Go')
  await isHeld

  await trial.runsOf(clerk).cancel(id)
  release()

  await status(worker, id, 'cancelled')
  expect(await worker.get(id)).toMatchObject({ interrupts: [], unread: [] })
})

test('listeners receive the stop of a run that began to wait for an answer just before it is cancelled', async () => {
  const stops: string[] = []
  const worker = trial.runsOf(clerk)
  worker.onStopped(async (run) => void stops.push(run.status))
  const { id } = await worker.start('clerk', 'Go')

  const { pool, isHeld, release } = holding('SET cancel = $2')
  const cancelled = trial.runsOf(clerk, { pool }).cancel(id)
  await isHeld
  await trial.work(worker)
  await status(worker, id, 'interrupted')
  release()
  await cancelled

  await vi.waitFor(() => expect(stops).toHaveLength(2), { timeout: 60_000 })
  // A listener gets the run as it is when the listener is called, which may be after the cancel.
  expect(stops).toEqual([expect.toBeOneOf(['interrupted', 'cancelled']), 'cancelled'])
})

test('a message that the run has read before it waits for an answer is not unread when the run is cancelled', async () => {
  const runs = trial.runsOf(clerk)
  const { id } = await runs.start('clerk', 'Go')
  await runs.send(id, 'Be quick.')
  await trial.work(runs)
  await status(runs, id, 'interrupted')

  await runs.cancel(id)

  expect(await runs.get(id)).toMatchObject({ status: 'cancelled', unread: [] })
})

test('a retry that could not wake the run is completed by another retry, which says that the run is running', async () => {
  let isAway = false
  const wake: typeof trial.engine.wake = async (id, options) => {
    if (isAway) throw new Error('the engine is away')
    await trial.engine.wake(id, options)
  }
  const runs = trial.runsOf(clerk, { engine: { ...trial.engine, wake } })
  await trial.work(runs)
  const { id } = await runs.start('clerk', 'Go')
  await status(runs, id, 'interrupted')
  await runs.cancel(id)
  isAway = true
  await expect(runs.retry(id)).rejects.toThrow('the engine is away')
  isAway = false

  await expect(runs.retry(id)).rejects.toThrow('it is running')

  await status(runs, id, 'interrupted')
})
