/** The table that compares the present core with an older one. */

import { styleText } from 'node:util'
import { OLDER_CORE_LIMIT } from '../../bars.ts'
import { milliseconds, ratio } from '../../format.ts'
import type { Spread } from '../table.ts'
import type { Against, TitledComparison } from './against.ts'

/** The titles of the work that exceeds its limit. */
export const missedAgainst = ({ comparisons }: Against): readonly string[] =>
  comparisons.filter(({ isMet }) => !isMet).map(({ title }) => title)

export function againstTable({ older, comparisons }: Against): string {
  return [
    '',
    styleText('bold', 'CPU time of core, compared with an older core'),
    `   ${styleText('dim', `the older one: ${older.version} in ${older.folder}`)}`,
    '',
    styleText('bold', 'The older core against itself'),
    ...comparisons.map(({ title, self, spread }) => line(title, spreadText(self), `spread ${ratio(spread)}`)),
    '',
    styleText('bold', 'The present core against the older one'),
    ...comparisons.map((one) => line(one.title, spreadText(one.ratio), barText(one), timesText(one))),
    '',
    ...NOTES.map((text) => styleText('dim', `   ${text}`)),
    '',
  ].join('\n')
}

const NOTES = [
  'A ratio is within one round. The median of each start of the processes counts, and then the median of the starts; half of',
  'the starts are between the two figures next to it. The spread is the distance from 1 to the farther of those two, and',
  `the limit is ${OLDER_CORE_LIMIT} and the spread. Times are medians of a round.`,
]

function line(title: string, ...cells: readonly string[]): string {
  return `   ${title.padEnd(36)}${cells.join('   ')}`.trimEnd()
}

/** `1.004  0.981 to 1.020` */
const spreadText = ({ median, low, high }: Spread): string =>
  `${ratio(median)}  ${styleText('dim', `${ratio(low)} to ${ratio(high)}`)}`

const barText = ({ limit, isMet }: TitledComparison): string =>
  `${styleText('dim', `≤ ${ratio(limit)}`)} ${isMet ? styleText('green', '✓') : styleText('red', '✗')}`

/** `412 → 398 ms` */
const timesText = ({ older, present }: TitledComparison): string =>
  styleText('dim', `${milliseconds(older / 1_000)} → ${milliseconds(present / 1_000)} ms`)
