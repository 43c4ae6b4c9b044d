/** `npm run bench -- server`: measures what a turn costs a server. */

import { writeFile } from 'node:fs/promises'
import { Command, CommanderError } from 'commander'
import { listOf, positive, readable, writable } from '../cli/values.ts'
import { environment, loadNow } from '../environment.ts'
import { shownParts } from '../progress.ts'
import { PLAN, planOf, type Rows, SHORT_PLAN } from './plan.ts'
import { SETUP_NAMES } from './setups.ts'

interface Given extends Rows {
  readonly rounds?: number
  readonly short?: true
  readonly json?: string
  readonly with?: string
  readonly markdown?: string
}

function commandOf(): Command {
  return new Command('bench server')
    .description(
      'Measures what a turn costs a server: threads over each store next to the AI SDK, long threads, pages that join a turn, and durable runs. It needs PostgreSQL on this machine, which it starts by itself.',
    )
    .option('--servers <list>', `only these: ${SETUP_NAMES.join(', ')}`, listOf(SETUP_NAMES))
    .option('--loads <list>', 'turns with so many at once', numbers)
    .option('--lengths <list>', 'turns of threads with so many messages', numbers)
    .option('--readers <list>', 'so many pages that join a turn', numbers)
    .option('--workers <list>', 'durable runs with so many workers', numbers)
    .option('--rounds <count>', 'rounds of each turn', positive)
    .option('--short', 'a few turns of each kind, in some seconds: for checks, its figures mean nothing')
    .option('--json <file>', 'write the figures', writable)
    .option('--with <file>', 'add the rows that are not measured now from these figures', readable)
    .option('--markdown <file>', 'write the page docs/server-costs.md', writable)
    .addHelpText('after', HELP)
    .allowExcessArguments(false)
    .showHelpAfterError('(see --help)')
    .exitOverride()
}

const HELP = `
Takes about 15 minutes. With --loads, --lengths, --readers or --workers only these rows are measured, for example
  bench server --lengths 0,1000 --servers postgres,ai-postgres
Measure rows that are compared with each other at the same time. docs/bench.md says how to read the results.`

function numbers(text: string): readonly number[] {
  return text.split(',').map((one) => (one.trim() === '0' ? 0 : positive(one)))
}

/** Returns the exit code: 0, 1 without PostgreSQL, 2 for an error of the user. Rejects if the signal is aborted. */
export async function serverCosts(args: readonly string[], signal: AbortSignal): Promise<number> {
  let given: Given
  try {
    given = commandOf().parse(args, { from: 'user' }).opts<Given>()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
  // The measurement is loaded only here, because that takes memory and time.
  const { NoPostgresError } = await import('@meanwhile/postgres-cluster')
  const { measureServer, partsOf } = await import('./measure-server.ts')
  const { figuresIn, withEarlier } = await import('./figures.ts')
  const { printedCosts, serverCostsPage } = await import('./page.ts')
  const { short, json, markdown, with: earlier, rounds, ...rows } = given
  const whole = short ? SHORT_PLAN : PLAN
  const plan = planOf({ ...whole, rounds: rounds ?? whole.rounds }, rows)
  const before = environment()
  try {
    const cost = await shownParts(
      '{value} of {total} parts · {what}',
      { parts: partsOf(plan), before: 'starting PostgreSQL' },
      (onPart) => measureServer({ plan, signal, onPart }),
    )
    const now = { ...cost, measured: [{ plan, machine: { ...before, loadAverageAfter: loadNow() } }] }
    const figures = earlier === undefined ? now : withEarlier(now, figuresIn(earlier))
    console.log(printedCosts(figures))
    if (json !== undefined) await writeFile(json, `${JSON.stringify(figures, null, 2)}\n`)
    if (markdown !== undefined) await writeFile(markdown, serverCostsPage(figures))
    return 0
  } catch (error) {
    if (!(error instanceof NoPostgresError)) throw error
    console.error(error.message)
    return 1
  }
}
