import { unhandledRejections } from '@meanwhile/tests/rejections'
import { sized, spaced } from '@meanwhile/tests/size'
import { beforeAll, expect, test } from 'vitest'
import { forbiddenOf } from '../judge.ts'
import { type Cut, cutsOf, ENDS, NEXTS } from './cuts.ts'
import { type LoopCell, loopCell } from './loop-cells.ts'
import { cellOfLoop } from './loops.ts'
import { streamTextLoop } from './stream-text.ts'

unhandledRejections()
beforeAll(() => {
  // Each failed attempt is a warning.
  Reflect.set(globalThis, 'AI_SDK_LOG_WARNINGS', false)
})

test('streamText with eager() and resilient() makes each call once, shows each character once and keeps the same message, wherever a response breaks off (RS1, RS2, RS3, RS4, RS13)', async () => {
  const all = await cutsOf()
  const kindOf = ({ wire, next, end }: Cut) => `${wire} ${next} ${end}`
  const some = [...new Set(all.map(kindOf))].flatMap((kind, place) => {
    const cuts = all.filter((cut) => kindOf(cut) === kind)
    // Of an error, which comes at five places, one is tried.
    const apart = cuts.length === 5 ? { small: 5, middle: 4, whole: 1 } : { small: 15, middle: 10, whole: 1 }
    return spaced(cuts, apart, place)
  })
  const { cuts, executions, ...rest } = await loopCell(streamTextLoop({ eager: true, resilient: true }), some)
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

test('streamRetries of the AI SDK repeats reported errors only, and executes nothing that was not asked for', async () => {
  const cell = await cellOfLoop('streamText, streamRetries', { step: 100, wires: ['openai-responses'] })
  expect([cell.cuts, cell.ended, cell.taken, forbiddenOf(cell.executions), cell.changed]).toEqual([14, 10, 0, 0, 0])
}, 300_000)

test('streamText by itself fails at each of these cuts, and executes nothing', async () => {
  const { ended, taken, executions } = await cellOfLoop('streamText', {
    step: sized({ small: 24, middle: 16, whole: 1 }),
    wires: ['openai-responses'],
  })
  expect([ended, taken, executions.early, forbiddenOf(executions)]).toEqual([0, 0, 0, 0])
}, 300_000)

test('a cut comes after each event up to the end of the last call and text, and an error after each text and call', async () => {
  const cuts = await cutsOf(['anthropic'])
  const placesOf = (end: Cut['end']) => [...new Set(cuts.filter((cut) => cut.end === end).map(({ after }) => after))]
  const [reset, complete, reported] = ENDS.map(placesOf)
  expect(reset).toEqual(complete)
  expect(reset).toEqual(Array.from(reset ?? [], (_, at) => at))
  expect(reset?.length).toBeGreaterThan(20)
  expect(reported).toEqual([1, 2, 3, 4, 5])
  expect(new Set(cuts.map(({ next }) => next))).toEqual(new Set(NEXTS))
})
