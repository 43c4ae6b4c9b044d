/** Computes medians and spreads of a few runs. */

/** For an even number of values the mean of the two in the middle; `undefined` without values. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return low === undefined || high === undefined ? undefined : (low + high) / 2
}

/** The smallest value that this share of all values (0 to 1) does not exceed; `undefined` without values. */
export function percentile(values: readonly number[], part: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(part * values.length) - 1)]
}

/** Smallest and largest value. */
export function range(values: readonly number[]): readonly [min: number, max: number] | undefined {
  return values.length === 0 ? undefined : [Math.min(...values), Math.max(...values)]
}

/** `theirs - ours` for every key that both have. */
export function pairedDifferences<Key>(
  ours: ReadonlyMap<Key, number>,
  theirs: ReadonlyMap<Key, number>,
): readonly number[] {
  return [...ours].flatMap(([key, value]) => {
    const other = theirs.get(key)
    return other === undefined ? [] : [other - value]
  })
}
