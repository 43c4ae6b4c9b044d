/** The page about what breaks elsewhere. */

import type { Row, Trial, Tried } from './row.ts'

export interface PageFacts {
  /** By the names of their scripts. */
  readonly rows: Readonly<Record<string, Row>>
  /** What the trials have observed, by the same names. */
  readonly tried: Readonly<Record<string, Tried>>
  /** The day on which they observed it: `2026-11-29`. */
  readonly on: string
}

export function pageOf(facts: PageFacts): string {
  const { rows, on } = facts
  return `# What breaks elsewhere

Each case has a public thread, if we know one: a report, or the change that brought or fixed it. Both sides got the same input, unless the case says what differs: a script for a
mock endpoint of [\`@meanwhile/harness\`](testing.md#cuts-and-faults), or for a model in the process. The outcomes were observed on ${on}, with the packages that the library publishes on
npm. No library's code is in this repository. Every library here does many things well that no case shows; [the comparison](compare.md) begins with what they have and we do not.

\`npm run docs:proved\` installs the libraries, tries all cases again and writes this page. It fails if a library or ours does something else than before, so the case of
a library that has fixed it does not stay here for long. \`npm run docs:proved -- half-arguments\` tries one case, and prints the versions and both outcomes. If a
case is unfair to a library, please report it as a bug.

## They are right, and we are not

Not a case, but a cost: [a turn of a chat](server-costs.md#a-turn) takes more statements and bytes of PostgreSQL here than two rows a turn of the AI SDK.

${casesOf(facts, 'theirs')}

## Ours does not do this

Some of it is a documented choice of the library, with an option or another way; then the case names it.

${casesOf(facts, 'ours')}

## Fixed since

The report was right. In these versions nobody is wrong.

${casesOf(facts, 'both')}

## Not run

Only our side is tested here.

| case | reported to | why it was not run | our test |
|---|---|---|---|
${Object.values(rows)
  .flatMap((row) => ('notRun' in row.trial ? [notRun(row, row.trial.notRun)] : []))
  .join('\n')}
`
}

function casesOf({ rows, tried }: PageFacts, right: Trial['right']): string {
  return Object.entries(rows)
    .flatMap(([name, row]) => {
      const found = tried[name]
      return 'notRun' in row.trial || row.trial.right !== right || found === undefined ? [] : [caseOf(name, row, found)]
    })
    .join('\n\n')
}

function caseOf(name: string, row: Row, { versions, outcome }: Tried): string {
  const { title, library, note, test } = row
  return `### ${title}

${library}, ${threadOf(row)}. Versions: ${versions.join(', ')}.${note === undefined ? '' : ` ${note}`}

| | |
|---|---|
| ${library} | ${cell(outcome.theirs)} |
| ours | ${cell(outcome.ours)} |

Script: [\`${name}\`](../apps/bench/src/proved/rows/${name}.ts). Our test: ${testOf(test)}.`
}

function notRun(row: Row, why: string): string {
  return `| ${row.title} | ${row.library}, ${threadOf(row)} | ${why} | ${testOf(row.test)} |`
}

function threadOf({ thread }: Row): string {
  if (thread === undefined) return 'no report that we know'
  const { name, status, isRelated = false } = thread
  const [repository = '', number = ''] = name.split('#')
  const link = `[${name}](https://github.com/${repository}/issues/${number})${status === undefined ? '' : ` (${status})`}`
  return isRelated ? `no report that we know; related: ${link}` : link
}

function testOf({ file, title }: Row['test']): string {
  return `[${cell(title)}](../${file})`
}

/** As one cell: braces and bars would be read as something else. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\{[^}]*\}+/g, (json) => `\`${json}\``)
}
