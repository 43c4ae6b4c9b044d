import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CANCEL_MODES } from '../vocabulary/cancel.ts'
import { decideHalt, type Halt, type HaltFact, hasFailed, isAwaited, mayStart, reaches, runsOn } from './halt.ts'

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
const RUNNING: Halt = { phase: 'running' }
const after = (...facts: HaltFact[]) => facts.reduce(decideHalt, RUNNING)

it('no fact lets anything start that may not start, takes back a stop, or weakens a mode (K8, K11)', () => {
  fc.assert(
    fc.property(fc.constantFrom(LOADING, RUNNING), fc.array(fact, { maxLength: 8 }), (begin, facts) => {
      let halt = begin
      for (const one of facts) {
        const next = decideHalt(halt, one)
        if (!mayStart(halt)) expect(mayStart(next)).toBe(false)
        if (!runsOn(halt)) expect(runsOn(next)).toBe(false)
        if (hasFailed(halt)) expect(next.stop).toBe(halt.stop)
        for (const mode of CANCEL_MODES) if (reaches(halt, mode)) expect(reaches(next, mode)).toBe(true)
        if (halt.mode === 'now') expect(next.escalated).toBe(halt.escalated)
        halt = next
      }
      if (facts.some(({ is }) => is === 'abort' || is === 'failure')) expect(hasFailed(halt)).toBe(true)
    }),
  )
})

it('a cancel that comes while the run is loading stops it when there is something to save (K11)', () => {
  const asked = decideHalt(LOADING, { is: 'cancel', at: 'now' })
  expect([mayStart(asked), runsOn(asked)]).toEqual([false, true])
  expect(decideHalt(asked, { is: 'running' })).toEqual({ phase: 'running', mode: 'now', stop: 'cancel' })
  expect(decideHalt(decideHalt(asked, { is: 'abort' }), { is: 'running' }).stop).toBe('abort')
})

it('a run that has its answer can no longer be cancelled, but can be aborted; one that is stopping may be cancelled more strongly (MA6, K8)', () => {
  const now: HaltFact = { is: 'cancel', at: 'now' }
  const ending = after({ is: 'ending' })
  expect(decideHalt(ending, now)).toBe(ending)
  expect(decideHalt(decideHalt(ending, now), { is: 'abort' })).toEqual({ phase: 'ending', stop: 'abort' })
  const stopping = after({ is: 'cancel', at: 'after-tools' }, { is: 'pause' }, { is: 'ending' })
  expect(decideHalt(stopping, now)).toEqual({ phase: 'ending', stop: 'pause', mode: 'now' })
})

it('only a running run begins to end: not one that is loading, and not one that is over (MA6)', () => {
  expect(after({ is: 'ending' }).phase).toBe('ending')
  expect(after({ is: 'ending' }, { is: 'over' }, { is: 'ending' }).phase).toBe('over')
  expect(decideHalt(LOADING, { is: 'ending' })).toBe(LOADING)
})

it('what stops the run decides what starts, what goes on and whether it can be resumed (K1, K4, K5)', () => {
  const facts: HaltFact[] = [{ is: 'pause' }, { is: 'cancel', at: 'now' }, { is: 'abort' }, { is: 'failure' }]
  const read = (halt: Halt) => ({ starts: mayStart(halt), goesOn: runsOn(halt), hasFailed: hasFailed(halt) })
  expect([RUNNING, ...facts.map((one) => after(one))].map(read)).toEqual([
    { starts: true, goesOn: true, hasFailed: false },
    { starts: false, goesOn: true, hasFailed: false },
    { starts: false, goesOn: false, hasFailed: false },
    { starts: false, goesOn: false, hasFailed: true },
    { starts: false, goesOn: false, hasFailed: true },
  ])
})

it('each mode stops at its own safe points and at those of the modes below it, and after-model starts nothing (K5, K8)', () => {
  const stops = CANCEL_MODES.map((at) => CANCEL_MODES.filter((point) => reaches(after({ is: 'cancel', at }), point)))
  expect(stops).toEqual([['after-tools'], ['after-tools', 'after-model'], [...CANCEL_MODES]])
  const starts = CANCEL_MODES.map((at) => mayStart(after({ is: 'cancel', at })))
  expect(starts).toEqual([true, false, false])
})

it('a time limit raises the mode and records that, unless the mode is as strong already (K9)', () => {
  const late: HaltFact = { is: 'cancel', at: 'now', escalated: true }
  expect(after({ is: 'cancel', at: 'after-tools' }, late)).toMatchObject({ mode: 'now', escalated: true })
  expect(after({ is: 'cancel', at: 'now' }, late).escalated).toBeUndefined()
})

it('a run waits for what is running until the grace time is over, and for the last save until it is aborted (K1, K12, L16)', () => {
  expect(isAwaited(after({ is: 'abort' }))).toBe(true)
  expect(isAwaited(after({ is: 'abort' }, { is: 'grace over' }))).toBe(false)
  expect(isAwaited(after({ is: 'cancel', at: 'now' }, { is: 'grace over' }, { is: 'over' }))).toBe(true)
  expect(isAwaited(after({ is: 'over' }, { is: 'abort' }))).toBe(false)
})
