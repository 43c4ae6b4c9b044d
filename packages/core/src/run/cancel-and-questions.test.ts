import { respond } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { expect, test } from 'vitest'
import { answer, at, briefly, cancelledRuns, ended, named, resumed, start, toolOf } from '../../test/cancelled-runs.ts'
import { resultsIn } from '../../test/results.ts'
import { interrupt, type Middleware } from '../index.ts'

const { log, work } = cancelledRuns()

test.each(['after-model', 'after-tools'] as const)(
  'an interrupt that is raised during %s is included: cancelled lists it, and the resume may answer it (K17)',
  async (mode) => {
    const asks = toolOf('asks', 'external', async ({ answers, signal }) => {
      if (answers.length > 0) return `told ${JSON.stringify(answers)}`
      await sleep(100, signal)
      throw interrupt({ sure: true })
    })
    const started = start([respond(...named('asks', 'b')), answer], { tools: [asks, work('b', 50)] })
    await at(60)
    const cancelled = started.run.cancel({ at: mode })
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(result).toMatchObject({
      status: 'cancelled',
      cancelled: { at: mode },
      interrupts: [{ payload: { sure: true }, address: [{ agent: null }, { tool: 'asks', callId: 'asks' }] }],
    })
    expect(briefly(events).filter((line) => line.startsWith('tool-end'))).toEqual(['tool-end b'])
    const id = result?.interrupts?.[0]?.id ?? ''
    const { result: final } = await resumed(started, result, { [id]: 'yes' })
    expect(resultsIn(final?.messages)).toEqual([
      ['asks', 'told ["yes"]'],
      ['b', 'b done'],
    ])
    const { result: still } = await resumed(started, result)
    expect(still).toMatchObject({ status: 'interrupted', interrupts: [{ id }] })
  },
)

test('cancelled while a hook asks a question, the run keeps both (K17, L8)', async () => {
  const asking: Middleware = {
    name: 'asking',
    async afterModel(_, run) {
      if (run.answers.length > 0) return
      await sleep(50)
      throw interrupt('May I?')
    },
  }
  const started = start([respond(...named('a')), answer], { tools: [work('a', 10)], middleware: [asking] })
  await at(40)
  void started.run.cancel({ at: 'after-model' })
  const { result } = await ended(started)
  expect(result).toMatchObject({ status: 'cancelled', interrupts: [{ payload: 'May I?' }] })
  expect(log).toEqual([])
})
