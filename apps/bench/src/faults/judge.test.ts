import type { Middleware } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { forbiddenOf, judge, type Outcome } from './judge.ts'
import { VARIANTS } from './response.ts'
import { FAULTS } from './scripts.ts'
import { trial } from './trial.ts'

/** Undoes each call of a tool that can be undone, once it has succeeded. */
const undoing: Middleware = {
  name: 'undoing',
  async *wrapToolCall(call, next, run) {
    const message = yield* next(call)
    const { compensate } = run.setup.tools.find(({ name }) => name === call.name) ?? {}
    await compensate?.(call.input, message)
    return message
  },
}

/** What the judge says about a run without a fault whose calls get this treatment. */
async function judged(executor: Middleware): Promise<Outcome> {
  const [variant] = VARIANTS
  const [script] = (variant && FAULTS.find(({ title }) => title === 'no fault')?.scripts(variant)) ?? []
  if (!variant || !script) throw new Error('there is no script without a fault')
  const options = { effect: 'reversible', turns: variant.turns } as const
  return judge(await trial(script, options, executor), await trial(script, options))
}

test('an accepted call whose effect was undone is counted, and is forbidden (W46)', async () => {
  const outcome = await judged(undoing)
  expect(outcome).toEqual({ wrong: 0, extra: 0, missing: 0, twice: 0, undone: 1, early: 0 })
  expect(forbiddenOf(outcome)).toBe(1)
  expect(await judged({ name: 'nothing' })).toEqual({ ...outcome, undone: 0 })
})
