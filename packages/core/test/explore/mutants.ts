/**
 * Faults put into the machine on purpose: each must break a rule in a small world, or the rules do not see it. A mutant is a change of
 * the machine's text.
 */

import type { Scenario } from './world.ts'

export interface Mutant {
  readonly name: string
  /** Of the model, or of the machine itself. */
  readonly file: `model/${'decide' | 'due' | 'fate' | 'resume'}.ts` | `machine/${'call' | 'decide-call' | 'halt'}.ts`
  readonly replace: string
  readonly by: string
  /** The rule that it breaks. */
  readonly breaks: string
  readonly scenario: Scenario
}

const HISTORY = 'an eager run, interrupted or not, comes to what a waiting one does'
const TWICE = 'a call whose effect cannot be repeated is not executed twice'
const END = 'every run comes to its end'

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'two equal calls of one response are one',
    file: 'model/fate.ts',
    replace: ' && !taken.includes(one)',
    by: '',
    breaks: HISTORY,
    scenario: { steps: [[{ calls: ['x1', 'x1'] }]], eager: 'bold', limit: 2 },
  },
  {
    name: 'nothing that was discarded is undone',
    file: 'model/due.ts',
    replace: "if (call.fate !== 'discarded' || !call.done || s.halt.stop === 'cancel') return false",
    by: 'if (call) return false',
    breaks: 'what was discarded after it had succeeded is undone',
    scenario: { steps: [[{ calls: ['v1'], fails: true }, { calls: ['r2'] }]], eager: true, limit: 2 },
  },
  {
    name: 'an undo is not stored before it begins',
    file: 'model/due.ts',
    replace: "return call.undo === 'storing' && isStored(s, call.undoVersion)",
    by: "return call.undo === 'storing'",
    breaks: 'what is undone was discarded, and is undone once',
    scenario: {
      steps: [[{ calls: ['v1', 'i2'], fails: true }, { calls: ['i2'] }]],
      eager: true,
      limit: 2,
      store: true,
      kill: true,
    },
  },
  {
    name: 'an execution is entered before it is stored',
    file: 'model/due.ts',
    replace: "const isStoredFirst = s.hasStore && effect !== 'read'",
    by: 'const isStoredFirst = false',
    breaks: 'what cannot be repeated is stored before it is entered',
    scenario: { steps: [[{ calls: ['x1'] }]], eager: false, limit: 1, store: true, kill: true },
  },
  {
    name: 'what was stored before the execution began lets it begin',
    file: 'model/due.ts',
    replace: 'return !s.hasStore || s.stored >= version',
    by: 'return !s.hasStore || s.stored > 0',
    breaks: END,
    scenario: { steps: [[{ calls: ['x1', 'x2'] }]], eager: false, limit: 2, store: true, slowCheck: true },
  },
  {
    name: 'a call that is cut off by a kill is made again, whatever it does',
    file: 'model/resume.ts',
    replace: "const mayHaveHappened = inFlight.some(({ does }) => does?.effect !== 'read') && !isAnsweredInside",
    by: 'const mayHaveHappened = isAnsweredInside && false',
    breaks: TWICE,
    scenario: { steps: [[{ calls: ['x1'] }]], eager: false, limit: 1, store: true, kill: true },
  },
  {
    name: 'what a wrap that asks has left is made again',
    file: 'model/resume.ts',
    replace: "if (does?.effect !== 'read') call.outcomes.push",
    by: "if (does?.effect === 'read') call.outcomes.push",
    breaks: TWICE,
    scenario: { steps: [[{ calls: ['q1'] }]], eager: false, limit: 2, wrap: 'both', cancel: 'now' },
  },
  {
    name: 'outcomes are kept by their number, whatever their input',
    file: 'model/decide.ts',
    replace: 'call.outcomes.find((one) => one.n === n && one.input === input)',
    by: 'call.outcomes[n - 1]',
    breaks: HISTORY,
    scenario: { steps: [[{ calls: ['x1'] }]], eager: false, limit: 2, wrap: 'both' },
  },
  {
    name: 'outcomes are not kept',
    file: 'model/decide.ts',
    replace: 'else call.outcomes.push({ n, input, text: fact.text, ok: fact.ok })',
    by: 'else call.done = false',
    breaks: TWICE,
    scenario: { steps: [[{ calls: ['x1'] }]], eager: false, limit: 2, wrap: 'both' },
  },
  {
    name: 'a function that waits for its response is not told of a pause',
    file: 'model/due.ts',
    replace: "call.waits && (call.fate !== 'provisional' || isPaused(s))",
    by: "call.waits && call.fate !== 'provisional'",
    breaks: END,
    scenario: { steps: [[{ calls: ['w1'] }]], eager: true, limit: 1, hookAsks: true },
  },
  {
    name: 'an inner call that waits for its response does not heed a pause',
    file: 'model/due.ts',
    replace: "if (isHalted(s) && (maker === null || (call.fate === 'provisional' && !mayBeEarly))) {",
    by: 'if (isHalted(s) && maker === null) {',
    breaks: END,
    scenario: { steps: [[{ calls: ['m1'] }]], eager: true, limit: 1, hookAsks: true },
  },
  {
    name: 'an inner call does what its maker may not do yet',
    file: 'model/due.ts',
    replace: "    if (call.fate === 'provisional' && !mayBeEarly) return undefined\n",
    by: '',
    breaks: 'what may not start before its response stands does not',
    scenario: { steps: [[{ calls: ['m1'] }]], eager: true, limit: 1 },
  },
  {
    name: 'what a function says that was told of the stop is its result',
    file: 'model/decide.ts',
    replace: '  if (call.isRefused) return\n',
    by: '',
    breaks: HISTORY,
    scenario: { steps: [[{ calls: ['w1'] }]], eager: true, limit: 1, hookAsks: true },
  },
  {
    name: 'inner calls of all calls share their ids',
    file: 'model/decide.ts',
    replace: 'one.maker === key && one.id === call.id && one.input === call.input',
    by: 'one.maker !== null && one.id === call.id',
    breaks: HISTORY,
    scenario: { steps: [[{ calls: ['m1', 'm2'] }]], eager: true, limit: 2 },
  },
  {
    name: 'a cancelled call asks',
    file: 'model/decide.ts',
    replace: "const isOver = call.cancelled || call.fate === 'discarded'",
    by: "const isOver = call.fate === 'discarded'",
    breaks: 'a call that was cancelled asks nothing',
    scenario: { steps: [[{ calls: ['q1'] }]], eager: false, limit: 1, cancelCall: true },
  },
  {
    name: 'an abort does not win over a cancel',
    file: 'machine/halt.ts',
    replace: 'return isLost(halt) ? halt',
    by: 'return halt.stop ? halt',
    breaks: 'an abort wins',
    scenario: { steps: [[{ calls: ['r1'] }]], eager: true, limit: 1, cancel: 'now', abort: true },
  },
  {
    name: 'a mode does not stop at its own safe points',
    file: 'machine/halt.ts',
    replace: '>= CANCEL_MODES.indexOf(point)',
    by: '> CANCEL_MODES.indexOf(point)',
    breaks: 'a cancelled run begins no further step',
    scenario: { steps: [[{ calls: ['r1'] }], [{ calls: ['r1'] }]], eager: false, limit: 1, cancel: 'after-tools' },
  },
  {
    name: 'a cancel of after-model lets calls start',
    file: 'machine/halt.ts',
    replace: "!reaches(halt, 'after-model')",
    by: "!reaches(halt, 'now')",
    breaks: 'nothing of a paused run starts, except what a call at work makes',
    scenario: { steps: [[{ calls: ['r1'] }]], eager: true, limit: 1, cancel: 'after-model' },
  },
  {
    name: 'a pause stops what is at work',
    file: 'machine/halt.ts',
    replace: "return !stop || stop === 'pause'",
    by: 'return !stop',
    breaks: 'what is at work when its run pauses is not told to stop',
    scenario: { steps: [[{ calls: ['x1'] }]], eager: false, limit: 1, cancel: 'after-model' },
  },
  {
    name: 'the checkpoint of a cancel is taken at the end',
    file: 'model/due.ts',
    replace: 'return s.aside ? { is: ',
    by: 'return s.aside ? { is: "cancelled", checkpoint: checkpointOf(s) } : undefined\n  if (false as boolean) return s.aside ? { is: ',
    breaks: TWICE,
    scenario: { steps: [[{ calls: ['q1'] }]], eager: 'bold', limit: 1, cancel: 'now' },
  },
  {
    name: 'a broken attempt still starts calls',
    file: 'machine/call.ts',
    replace: "(fate === 'provisional' && isHeld)",
    by: 'isHeld === undefined',
    breaks: 'a call of a failed attempt begins only if another one asks for it',
    scenario: { steps: [[{ calls: ['i1'], fails: true }, { calls: ['r2'] }]], eager: true, limit: 1 },
  },
  {
    name: 'writers of one key overlap',
    file: 'model/due.ts',
    replace: 'if (obstacleOf({ call: own, claim: one.does }, order, [], s.limit, SIGHT)) return undefined',
    by: 'if (order.length < 0) return undefined',
    breaks: 'of those who write one key one executes at a time',
    scenario: { steps: [[{ calls: ['p1', 'p2'] }]], eager: false, limit: 2 },
  },
  {
    name: 'an execution needs no slot',
    file: 'model/due.ts',
    replace: 'if (slotsTaken(s) >= s.limit) return undefined',
    by: 'if (slotsTaken(s) < 0) return undefined',
    breaks: 'no more executions hold a slot than there are slots',
    scenario: { steps: [[{ calls: ['r1', 'r2', 'r3'] }]], eager: true, limit: 2 },
  },
  {
    name: 'an execution needs no slot while its input is checked',
    file: 'machine/call.ts',
    replace: "return stage === 'checking' || ",
    by: 'return ',
    breaks: 'no more executions hold a slot than there are slots',
    scenario: { steps: [[{ calls: ['r1', 'r2', 'r3'] }]], eager: false, limit: 2, slowCheck: true },
  },
  {
    name: 'what was judged of an execution is forgotten',
    file: 'machine/decide-call.ts',
    replace: '...(does && { does }), ',
    by: '',
    breaks: 'what may not start before its response stands does not',
    scenario: { steps: [[{ calls: ['m1'] }]], eager: true, limit: 1 },
  },
  {
    name: 'the step goes on when one call has its result',
    file: 'model/due.ts',
    replace: "wanted.every(({ course, result }) => course === 'settled' && result)",
    by: "(wanted.length === 0 || wanted.some(({ course, result }) => course === 'settled' && result))",
    breaks: HISTORY,
    scenario: { steps: [[{ calls: ['x1', 'x2'] }]], eager: false, limit: 2 },
  },
  {
    name: 'a paused run starts calls',
    file: 'model/due.ts',
    replace: '  return !isHalted(s) && !isAside(s, call)',
    by: '  return !isAside(s, call)',
    breaks: 'nothing of a paused run starts, except what a call at work makes',
    scenario: { steps: [[{ calls: ['x1'] }]], eager: false, limit: 1, cancel: 'after-model' },
  },
  {
    name: 'a discarded call stays in the checkpoint',
    file: 'model/decide.ts',
    replace: ": call.fate !== 'discarded') || isUndoing(call)",
    by: ': call.key !== null) || isUndoing(call)',
    breaks: 'a checkpoint holds nothing that was discarded, unless its undo has begun',
    scenario: { steps: [[{ calls: ['r1'], fails: true }, { calls: ['q2'] }]], eager: true, limit: 1 },
  },
]
