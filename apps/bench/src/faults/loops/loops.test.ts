import { unhandledRejections } from '@meanwhile/tests/rejections'
import { sized } from '@meanwhile/tests/size'
import { beforeAll, expect, test } from 'vitest'
import { forbiddenOf } from '../judge.ts'
import { cutsOf, ENDS, NEXTS } from './cuts.ts'
import type { LoopCell } from './loop-cells.ts'
import { cellOfLoop, type LoopPlan } from './loops.ts'

unhandledRejections()
beforeAll(() => {
  // Each failed attempt is a warning.
  Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)
})

const plan: LoopPlan = { step: sized({ small: 8, middle: 3, whole: 1 }) }

test('streamText with eager() and resilient() makes each call once, shows each character once and keeps the same message, wherever a response breaks off (RS1, RS2, RS3, RS4, RS13)', async () => {
  const cell = await cellOfLoop('streamText, eager(), resilient()', plan)
  const { cuts, executions, ...rest } = cell
  expect(rest).toEqual({
    ended: cuts,
    taken: 0,
    doubled: 0,
    changed: 0,
    mixed: 0,
    orphans: 0,
  } satisfies Partial<LoopCell>)
  expect(forbiddenOf(executions)).toBe(0)
  expect(executions.early).toBeGreaterThan(0)
}, 300_000)

test('streamText alone fails at each of these cuts, and executes nothing', async () => {
  const { ended, taken, executions } = await cellOfLoop('streamText', { ...plan, wires: ['openai-responses'] })
  expect([ended, taken, executions.early, forbiddenOf(executions)]).toEqual([0, 0, 0, 0])
}, 300_000)

test('a cut comes after each event up to the end of the last call and text, on each wire, in each way', async () => {
  const cuts = await cutsOf(['anthropic'])
  const places = new Set(cuts.map(({ after }) => after))
  expect(cuts).toHaveLength(places.size * NEXTS.length * ENDS.length)
  expect([...places]).toEqual(Array.from(places, (_, at) => at))
  expect(places.size).toBeGreaterThan(20)
})
