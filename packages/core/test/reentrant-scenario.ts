/** Random runs that are called back while they do something: what the model requests, and what acts on the run at which moment. */

import fc from 'fast-check'

/** The moments at which an act may happen, each in the same turn in which the run does it. */
export const MOMENTS = [
  'a tool starts',
  'a tool ends',
  'a tool is aborted',
  'a call is judged',
  'its keys are named',
  'its content is made',
  'it is undone',
  'a wrap has a call',
  'a wrap has a result',
  'a step begins',
  'a wrap has a request',
  'the model streams',
  'the model has spoken',
  'an answer is judged',
  'the run tells',
  'the reader reads',
  'a checkpoint is saved',
  'a resume begins',
  'a span begins',
  'a span ends',
] as const

export type Moment = (typeof MOMENTS)[number]

export const ACTS = [
  'cancel now',
  'cancel after-model',
  'cancel after-tools',
  'cancel soon',
  'abort',
  'ask',
  'cancel the call',
  'cancel the call, and ask',
  'call a tool',
  'call the same tool',
  'call the model',
  'wait for the commit, twice',
  'send',
] as const

export interface Act {
  readonly at: Moment
  /** Which of these moments, from 1 on, counted over the run and all its resumes. */
  readonly nth: number
  readonly act: (typeof ACTS)[number]
}

/** What a call does. */
export interface Work {
  readonly name: 'look' | 'put' | 'hold' | 'send' | 'write' | 'single' | 'brief' | 'later' | 'nested'
  readonly ms: number
  /** Works to its end even when it is aborted. */
  readonly deaf: boolean
  readonly fails: boolean
  /** What it waits for: a call that it has made in the run, or the success of its model call. */
  readonly waits: 'for nothing' | 'for its call' | 'for its commit'
  /** Another tool does its work. */
  readonly calls: boolean
  /** What its wrap does: passes it on, leaves it running, or makes it twice. */
  readonly wrap: 'passes' | 'leaves' | 'repeats'
}

/** The work of side calls. */
export const ASIDE: Omit<Work, 'name'> = {
  ms: 1,
  deaf: false,
  fails: false,
  waits: 'for nothing',
  calls: false,
  wrap: 'passes',
}

export interface Turn {
  /** The works that it requests, by index: equal calls are usual. */
  readonly calls: readonly number[]
  /** How long the response goes on after them. */
  readonly wait: number
  readonly end: 'whole' | 'fails first' | 'cut off'
  /** Whether its first call is changed when it is complete. */
  readonly edited: boolean
}

export interface Scenario {
  readonly works: readonly Work[]
  readonly turns: readonly Turn[]
  /** Which calls of a response start as soon as they are sealed. */
  readonly early: 'none' | 'all' | 'the first' | 'all but the first'
  readonly acts: readonly Act[]
  readonly toolConcurrency: number
  /** A resume continues from a copy of the checkpoint as JSON, or from the store. */
  readonly stored: boolean
  /** How many of its questions each resume answers at most. */
  readonly answers: number
}

const work: fc.Arbitrary<Work> = fc.record({
  name: fc.constantFrom('send', 'send', 'look', 'put', 'hold', 'write', 'single', 'brief', 'later', 'nested'),
  ms: fc.constantFrom(0, 0, 1, 3, 20),
  deaf: rarely(true, false),
  fails: rarely(true, false),
  waits: fc.oneof(
    { weight: 2, arbitrary: fc.constant('for nothing' as const) },
    fc.constantFrom('for its call', 'for its commit'),
  ),
  calls: rarely(true, false),
  wrap: fc.constantFrom('passes', 'passes', 'passes', 'leaves', 'repeats'),
})

const turn: fc.Arbitrary<Turn> = fc.record({
  calls: fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 4 }),
  wait: fc.constantFrom(0, 0, 5),
  end: fc.constantFrom('whole', 'whole', 'whole', 'whole', 'fails first', 'cut off'),
  edited: rarely(true, false),
})

const someAct: fc.Arbitrary<Act> = fc.record({
  at: fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...MOMENTS) }, fc.constantFrom('a tool starts', 'a tool ends')),
  nth: fc.constantFrom(1, 1, 1, 2, 2, 3, 5),
  act: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...ACTS) },
    fc.constantFrom('cancel now', 'cancel after-model'),
  ),
})

/** Acts that found faults most often: a hook that asks while early calls are running, and a message during a resume. */
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: someAct },
  fc.record({ at: fc.constant('a resume begins'), nth: fc.constantFrom(1, 1, 2), act: fc.constant('send') }),
  fc.record({ at: fc.constant('the model has spoken'), nth: fc.constantFrom(1, 1, 2), act: fc.constant('ask') }),
)

export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  works: fc.array(work, { minLength: 1, maxLength: 3 }),
  turns: fc.array(turn, { minLength: 1, maxLength: 2 }),
  early: fc.constantFrom('none', 'all', 'the first', 'all but the first'),
  acts: fc.array(act, { minLength: 1, maxLength: 4 }),
  toolConcurrency: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
  stored: fc.boolean(),
  answers: fc.constantFrom(1, 9, 9),
})

function rarely<T>(rare: T, usual: T): fc.Arbitrary<T> {
  return fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(rare) })
}
