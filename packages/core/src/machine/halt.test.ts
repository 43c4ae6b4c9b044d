import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CANCEL_MODES } from '../vocabulary/cancel.ts'
import { decideHalt, type Halt, type HaltFact, isAwaited, isLost, mayStart, reaches, runsOn } from './halt.ts'

const fact: fc.Arbitrary<HaltFact> = fc.oneof(
  fc.constantFrom<HaltFact>(
    { is: 'pause' },
    { is: 'abort' },
    { is: 'failure' },
    { is: 'grace over' },
    { is: 'ending' },
    { is: 'over' },
    { is: 'attempts', between: true },
    { is: 'cancel', at: 'now', escalated: true },
  ),
  fc.constantFrom(...CANCEL_MODES).map((at): HaltFact => ({ is: 'cancel', at })),
)

const LOADING: Halt = { phase: 'loading' }
const AT_WORK: Halt = { phase: 'at work' }
const after = (...facts: HaltFact[]) => facts.reduce(decideHalt, AT_WORK)

it('nothing that happens to a run lets start again what may not, takes back a stop, or lowers a mode (K8, K11)', () => {
  fc.assert(
    fc.property(fc.constantFrom(LOADING, AT_WORK), fc.array(fact, { maxLength: 8 }), (begin, facts) => {
      let halt = begin
      for (const one of facts) {
        const next = decideHalt(halt, one)
        if (!mayStart(halt)) expect(mayStart(next)).toBe(false)
        if (!runsOn(halt)) expect(runsOn(next)).toBe(false)
        if (isLost(halt)) expect(next.stop).toBe(halt.stop)
        for (const mode of CANCEL_MODES) if (reaches(halt, mode)) expect(reaches(next, mode)).toBe(true)
        if (halt.mode === 'now') expect(next.escalated).toBe(halt.escalated)
        halt = next
      }
      if (facts.some(({ is }) => is === 'abort' || is === 'failure')) expect(isLost(halt)).toBe(true)
    }),
  )
})

it('a cancel that comes while the run is loading stops it when there is something to save (K11)', () => {
  const asked = decideHalt(LOADING, { is: 'cancel', at: 'now' })
  expect([mayStart(asked), runsOn(asked)]).toEqual([false, true])
  expect(decideHalt(asked, { is: 'at work' })).toEqual({ phase: 'at work', mode: 'now', stop: 'cancel' })
  expect(decideHalt(decideHalt(asked, { is: 'abort' }), { is: 'at work' }).stop).toBe('abort')
})

it('a run that has its answer is not cancelled any more, and an abort still wins; one that stops may be cancelled more strongly (MA6, K8)', () => {
  const now: HaltFact = { is: 'cancel', at: 'now' }
  const ending = after({ is: 'ending' })
  expect(decideHalt(ending, now)).toBe(ending)
  expect(decideHalt(decideHalt(ending, now), { is: 'abort' })).toEqual({ phase: 'ending', stop: 'abort' })
  const stopping = after({ is: 'cancel', at: 'after-tools' }, { is: 'pause' }, { is: 'ending' })
  expect(decideHalt(stopping, now)).toEqual({ phase: 'ending', stop: 'pause', mode: 'now' })
})

it('only a run that is at work begins to end: not one that is loading, and not one that is over (MA6)', () => {
  expect(after({ is: 'ending' }).phase).toBe('ending')
  expect(after({ is: 'ending' }, { is: 'over' }, { is: 'ending' }).phase).toBe('over')
  expect(decideHalt(LOADING, { is: 'ending' })).toBe(LOADING)
})

it('what starts, goes on and can be resumed follows from what stops the run (K1, K4, K5)', () => {
  const facts: HaltFact[] = [{ is: 'pause' }, { is: 'cancel', at: 'now' }, { is: 'abort' }, { is: 'failure' }]
  const read = (halt: Halt) => ({ starts: mayStart(halt), goesOn: runsOn(halt), isLost: isLost(halt) })
  expect([AT_WORK, ...facts.map((one) => after(one))].map(read)).toEqual([
    { starts: true, goesOn: true, isLost: false },
    { starts: false, goesOn: true, isLost: false },
    { starts: false, goesOn: false, isLost: false },
    { starts: false, goesOn: false, isLost: true },
    { starts: false, goesOn: false, isLost: true },
  ])
})

it('each mode stops at its own safe points and at those of the modes below it, and after-model starts nothing (K5, K8)', () => {
  const stops = CANCEL_MODES.map((at) => CANCEL_MODES.filter((point) => reaches(after({ is: 'cancel', at }), point)))
  expect(stops).toEqual([['after-tools'], ['after-tools', 'after-model'], [...CANCEL_MODES]])
  const starts = CANCEL_MODES.map((at) => mayStart(after({ is: 'cancel', at })))
  expect(starts).toEqual([true, false, false])
})

it('a time limit raises a mode and says so, unless the mode is as strong already (K9)', () => {
  const late: HaltFact = { is: 'cancel', at: 'now', escalated: true }
  expect(after({ is: 'cancel', at: 'after-tools' }, late)).toMatchObject({ mode: 'now', escalated: true })
  expect(after({ is: 'cancel', at: 'now' }, late).escalated).toBeUndefined()
})

it('work is waited for until the grace time is over, and the last save until the run is aborted (K1, K12, L16)', () => {
  expect(isAwaited(after({ is: 'abort' }))).toBe(true)
  expect(isAwaited(after({ is: 'abort' }, { is: 'grace over' }))).toBe(false)
  expect(isAwaited(after({ is: 'cancel', at: 'now' }, { is: 'grace over' }, { is: 'over' }))).toBe(true)
  expect(isAwaited(after({ is: 'over' }, { is: 'abort' }))).toBe(false)
})
