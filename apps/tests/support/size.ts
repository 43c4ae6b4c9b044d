/** How much the tests try that generate their cases. */

const SIZES = ['small', 'middle', 'whole'] as const

/** `TEST_SIZE` of the environment: `small` (the default, as in `npm test`), `middle` (as in `.ci/run`) or `whole` (takes hours). */
export type TestSize = (typeof SIZES)[number]

const asked = process.env.TEST_SIZE ?? 'small'
const size = SIZES.find((one) => one === asked)
if (!size) throw new Error(`TEST_SIZE is ${asked}, not one of ${SIZES.join(', ')}`)

/** The number for the size of this run. */
export const sized = (counts: Readonly<Record<TestSize, number>>): number => counts[size]

/** Some of these values, as many as for the size of this run. Each case begins at its place, so that the cases use all values by turns. */
export function byTurns<Value>(
  values: readonly Value[],
  counts: Readonly<Record<TestSize, number>>,
  place: number,
): readonly Value[] {
  const from = place % values.length
  return [...values, ...values].slice(from, from + sized(counts))
}

/** Every nth of these values, where `distances` has the n for the size of this run. Each case begins at its place, so that the cases use all values by turns. */
export const spaced = <Value>(
  values: readonly Value[],
  distances: Readonly<Record<TestSize, number>>,
  place: number,
): readonly Value[] => values.filter((_, at) => at % sized(distances) === place % sized(distances))

/**
 * Options of a fast-check property. The seed is 1, so that every run tries the same cases; `SEED` of the environment sets another one:
 * `TEST_SIZE=whole SEED=7 npx vitest run NAME`.
 */
export const propertyRuns = (
  counts: Readonly<Record<TestSize, number>>,
): { readonly numRuns: number; readonly seed: number } => ({
  numRuns: sized(counts),
  seed: Number(process.env.SEED ?? 1),
})

/** In small runs the first case of each kind, in middle runs the last, in whole runs all. */
export function ofEachKind<Case>(cases: readonly Case[], kindOf: (one: Case) => string): readonly Case[] {
  if (size === 'whole') return cases
  const kinds = new Map(cases.map((one) => [kindOf(one), one]))
  if (size === 'small') for (const one of cases.toReversed()) kinds.set(kindOf(one), one)
  return [...kinds.values()]
}

/** In small runs every `nth` of these, the first among them, in larger runs all: for kinds that other tests of a small run have all. */
export const everyNth = <Case>(cases: readonly Case[], nth: number): readonly Case[] =>
  size === 'small' ? cases.filter((_, at) => at % nth === 0) : cases
