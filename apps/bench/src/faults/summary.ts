/** The text of the fault matrix, for the tables on the console and in the report. */

import { forbiddenOf, type Outcome } from './judge.ts'
import { type FaultCell, RULES, type Rule, sumOfCells } from './matrix.ts'

export const RULE_TITLES: Readonly<Record<Rule, string>> = {
  ours: 'eager-tools',
  'valid-json': 'valid JSON',
  'tool-call-part': 'tool-call part',
}

export const FAULTS_TITLE = 'Executions that the promise forbids'

export const FAULT_NOTES: readonly string[] = [
  'Compared with the run without eager tools: with arguments that no call had in the end (wrong), of a call that it does not make (extra), of a call that it makes (missing), of a call that was already executed (twice); or an undo took back what an accepted call had done (undone). An undo goes by the input.',
  'An additional execution of a read whose response is not accepted is waste and not counted, nor one of an idempotent or reversible call that was sealed when it started: for any rule.',
  'A schema that differs fills in another value while the model is streaming than afterwards, as for the time. For a read only the arguments that the model wrote are compared.',
  'For a tool with the effect calls, the executions of the read and of the external tool that it calls are counted.',
  'valid JSON: starts when the arguments parse, adopts by call id (cloudwego/eino#934). tool-call part: starts at the adapter’s tool-call part (AI SDK up to 6.0.259, Mastra 1.71). Both are ports to our loop.',
]

/** A row of the table: a fault, or the sum of all, over tools of every effect. */
export interface FaultRow {
  readonly title: string
  readonly scripts: number
  /** By rule, in their order. */
  readonly forbidden: readonly string[]
}

export function faultRows(cells: readonly FaultCell[]): readonly FaultRow[] {
  const titles = [...new Set(cells.map(({ fault }) => fault))]
  const rows = titles.map((title) =>
    rowOf(
      title,
      cells.filter(({ fault }) => fault === title),
      kindsOf,
    ),
  )
  return [...rows, rowOf('all of them', cells, (outcome) => forbiddenOf(outcome).toLocaleString('en'))]
}

/** Shows that eager starts happened at all; otherwise the zeros would mean nothing. */
export function earlyNote(cells: readonly FaultCell[]): string {
  const { rules } = sumOfCells(cells)
  return `Executions that began while the model was streaming: ${RULES.map((rule) => `${RULE_TITLES[rule]} ${rules[rule].early.toLocaleString('en')}`).join(', ')}.`
}

function rowOf(title: string, cells: readonly FaultCell[], text: (outcome: Outcome) => string): FaultRow {
  const { scripts, rules } = sumOfCells(cells)
  return { title, scripts, forbidden: RULES.map((rule) => text(rules[rule])) }
}

/** `0`, `26 extra`, `12 wrong, 12 missing` */
function kindsOf({ wrong, extra, missing, twice, undone }: Outcome): string {
  const found = Object.entries({ wrong, extra, missing, twice, undone }).filter(([, number]) => number > 0)
  return found.map(([name, number]) => `${number} ${name}`).join(', ') || '0'
}
