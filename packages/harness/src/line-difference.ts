/** Two texts, line by line: what only the one has, what only the other, what both have. */

/** The lines of both, in order: `- ` before those expected alone, `+ ` before those that came instead, two spaces before the rest. */
export function lineDifference(expected: readonly string[], actual: readonly string[]): string[] {
  const same = commonLines(expected, actual)
  const lines: string[] = []
  let e = 0
  let a = 0
  while (e < expected.length || a < actual.length) {
    if (e < expected.length && a < actual.length && expected[e] === actual[a]) {
      lines.push(`  ${expected[e++]}`)
      a++
    } else if (a >= actual.length || (e < expected.length && at(same, e + 1, a) >= at(same, e, a + 1))) {
      lines.push(`- ${expected[e++]}`)
    } else lines.push(`+ ${actual[a++]}`)
  }
  return lines
}

/** How many lines the rest of the one has in common with the rest of the other, from each line of both. */
function commonLines(expected: readonly string[], actual: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: expected.length + 1 }, () => Array.from({ length: actual.length + 1 }, () => 0))
  for (let e = expected.length - 1; e >= 0; e--) {
    for (let a = actual.length - 1; a >= 0; a--) {
      const row = table[e]
      if (!row) continue
      row[a] =
        expected[e] === actual[a] ? at(table, e + 1, a + 1) + 1 : Math.max(at(table, e + 1, a), at(table, e, a + 1))
    }
  }
  return table
}

function at(table: readonly (readonly number[])[], row: number, column: number): number {
  return table[row]?.[column] ?? 0
}
