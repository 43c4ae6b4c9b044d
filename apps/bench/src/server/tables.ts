/** The tables of what a turn costs a server, for the console and for the page. */

import { milliseconds, NONE, precise } from '../format.ts'
import { KIND_TITLES } from './measure-durable-runs.ts'
import type { LengthCost, ReadersCost, ServerCost, TurnCost } from './measure-server.ts'
import { SETUPS, type SetUpName, setUpOf } from './setups.ts'

export interface CostTable {
  readonly title: string
  /** What its columns mean, in a sentence or two. */
  readonly about: string
  readonly heads: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export function tablesOf(cost: ServerCost): readonly CostTable[] {
  const tables = [loadsTable(cost), lengthsTable(cost), readersTable(cost), durableTable(cost)]
  return tables.filter(({ rows }) => rows.length > 0)
}

/** What a set-up is compared with. */
const BASELINES: Readonly<Record<SetUpName, SetUpName>> = {
  memory: 'ai',
  sqlite: 'ai',
  postgres: 'ai-postgres',
  ai: 'ai',
  'ai-postgres': 'ai-postgres',
}

function loadsTable({ loads }: ServerCost): CostTable {
  const baseline = ({ name, turns }: TurnCost) =>
    loads.find((one) => one.name === BASELINES[name] && one.turns === turns)
  return {
    title: 'A turn',
    about:
      'CPU, statements and bytes are those of one turn. ×: divided by the row of the AI SDK, with two rows a turn for PostgreSQL. On a core: so many turns at once would use all the CPU time of one, without that of PostgreSQL.',
    heads: [
      '',
      'at once',
      'CPU, ms',
      '×',
      'on a core',
      'PostgreSQL, ms',
      'statements',
      'kB',
      'first word, ms',
      'late, ms',
      '99 %',
      'loop 99 %, ms',
    ],
    rows: loads.map((one) => [
      SETUPS[one.name].title,
      String(one.turns),
      precise(one.cpuMs),
      times(one.cpuMs, baseline(one)?.cpuMs),
      milliseconds(one.wallMs / one.cpuMs),
      ...storeCells(one),
      precise(one.firstMs),
      precise(one.lateMs),
      precise(one.late99Ms),
      precise(one.loopMs),
    ]),
  }
}

function lengthsTable({ lengths }: ServerCost): CostTable {
  const empty = ({ name }: TurnCost) => lengths.find((one) => one.name === name && one.messages === 0)
  return {
    title: 'A turn of a long thread',
    about: '×: divided by a turn of a thread without messages.',
    heads: ['', 'messages before', 'CPU, ms', '×', 'PostgreSQL, ms', '×', 'statements', 'kB', '×'],
    rows: lengths.map((one: LengthCost) => {
      const first = empty(one)
      const [postgres = NONE, statements = NONE, bytes = NONE] = storeCells(one)
      return [
        SETUPS[one.name].title,
        milliseconds(one.messages),
        precise(one.cpuMs),
        times(one.cpuMs, first?.cpuMs),
        postgres,
        times(one.postgresMs, first?.postgresMs),
        statements,
        bytes,
        bytes === NONE ? NONE : times(one.bytes, first?.bytes),
      ]
    }),
  }
}

/** PostgreSQL's CPU, statements and kilobytes; dashes where there is no database. */
function storeCells({ name, postgresMs, statements, bytes }: TurnCost): readonly string[] {
  const { store } = setUpOf(name)
  if (store === undefined || store === 'memory') return [NONE, NONE, NONE]
  return [precise(postgresMs), milliseconds(statements), precise(bytes / 1_000)]
}

function readersTable({ readers }: ServerCost): CostTable {
  return {
    title: 'Pages that join a turn',
    about:
      'All pages together, from their requests to the end of the turn. CPU and reads of the store are those of the process that they read from; where it is also the one that runs the turn, those of the turn are included.',
    heads: ['', 'the turn runs', 'readers', 'CPU, ms', 'reads', 'late, ms'],
    rows: readers.map(({ name, isElsewhere, readers, cpuMs, reads, lateMs }: ReadersCost) => [
      SETUPS[name].title,
      isElsewhere ? 'in another process' : 'here',
      String(readers),
      precise(cpuMs),
      milliseconds(reads),
      precise(lateMs),
    ]),
  }
}

function durableTable({ durable }: ServerCost): CostTable {
  const job = (workers: number) => durable.find((one) => one.kind === 'job' && one.workers === workers)
  return {
    title: 'A durable run of three steps',
    about:
      'Next to a job of pg-boss that makes the same three saves by hand. Statements, CPU and PostgreSQL are those of one run, in all processes. Above: statements above those of the job; ×: divided by those of the job. By a profile of the worker, about half of its time is the client of PostgreSQL, and about a third the agent, with its three model calls, two tool calls and five checkpoints; the job has no agent, saves what it was given, and could not be resumed.',
    heads: ['', 'workers', 'runs a second', '×', 'statements', 'above', 'CPU, ms', 'PostgreSQL, ms'],
    rows: durable.map(({ kind, workers, runsPerSecond, statements, cpuMs, postgresMs }) => {
      const bare = job(workers)
      return [
        KIND_TITLES[kind],
        String(workers),
        milliseconds(runsPerSecond),
        times(runsPerSecond, bare?.runsPerSecond),
        statements.toFixed(1),
        bare ? (statements - bare.statements).toFixed(1) : NONE,
        precise(cpuMs),
        precise(postgresMs),
      ]
    }),
  }
}

function times(value: number | undefined, baseline: number | undefined): string {
  return value === undefined || !baseline ? NONE : (value / baseline).toFixed(2)
}
