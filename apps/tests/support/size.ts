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

/** Of each kind at most as many cases as for the size of this run, spread over the kind. Every kind stays. */
export function ofEachKind<Case>(
  cases: readonly Case[],
  kindOf: (one: Case) => string,
  counts: Readonly<Record<TestSize, number>>,
): readonly Case[] {
  const most = sized(counts)
  const places = new Map<string, number>()
  const sizes = new Map<string, number>()
  for (const one of cases) sizes.set(kindOf(one), (sizes.get(kindOf(one)) ?? 0) + 1)
  return cases.filter((one) => {
    const kind = kindOf(one)
    const place = places.get(kind) ?? 0
    places.set(kind, place + 1)
    const size = sizes.get(kind) ?? 0
    return size <= most || Math.floor((place * most) / size) !== Math.floor(((place - 1) * most) / size)
  })
}
