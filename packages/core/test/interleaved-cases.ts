/** Random runs, with what happens to each and when. */

import fc from 'fast-check'
import type { Effect } from '../src/index.ts'

/** What a tool does. */
export const KINDS = [
  'quick',
  'slow',
  'throws',
  'lasts',
  'deaf',
  'stubborn',
  'tidies',
  'asks',
  'tells',
  'nests',
  'stands',
  'sends',
  'fatal',
] as const

export type Kind = (typeof KINDS)[number]

export const EFFECTS: readonly Effect[] = ['read', 'idempotent', 'reversible', 'external']

const milliseconds = (max: number) => fc.integer({ min: 0, max })

const someCall = fc
  .record({ kind: fc.constantFrom(...KINDS), effect: fc.constantFrom(...EFFECTS), ms: milliseconds(60) })
  // A tool that ends the run with an error would end most runs.
  .filter(({ kind, ms }) => kind !== 'fatal' || ms > 45)

const someTurn = fc.record({
  text: fc.boolean(),
  calls: fc.array(someCall, { maxLength: 3 }),
  /** The response fails after this many deltas, in the first attempts. */
  failures: fc.constantFrom(0, 0, 0, 1, 2, 3),
})

const disturbance = fc.record({
  at: milliseconds(250),
  act: fc.oneof(
    { weight: 6, arbitrary: fc.record({ at: fc.constantFrom('now', 'after-model', 'after-tools') }) },
    {
      weight: 2,
      arbitrary: fc.record({ at: fc.constantFrom('after-model', 'after-tools'), escalateAfter: milliseconds(150) }),
    },
    { weight: 1, arbitrary: fc.constant('abort' as const) },
    { weight: 4, arbitrary: fc.constant('send' as const) },
  ),
})

export const cases = fc.record({
  turns: fc.array(someTurn, { minLength: 1, maxLength: 3 }),
  pace: fc.record({ firstToken: milliseconds(20), betweenTokens: milliseconds(10) }),
  toolConcurrency: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  early: fc.boolean(),
  edits: fc.boolean(),
  retryWait: fc.constantFrom(0, 40),
  hooks: fc.option(milliseconds(20), { nil: undefined }),
  approving: fc.boolean(),
  pass: fc.boolean(),
  store: fc.option(milliseconds(15), { nil: undefined }),
  /** What happens to the run, and to each of its resumes. */
  disturbances: fc.array(fc.array(disturbance, { maxLength: 3 }), { maxLength: 3 }),
  /** Whether a message is sent to each resume at once. */
  sendsFirst: fc.array(fc.boolean(), { maxLength: 3 }),
  /** Whether each resume has the answers to the open questions. */
  answering: fc.array(fc.boolean(), { maxLength: 3 }),
})

export type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never
