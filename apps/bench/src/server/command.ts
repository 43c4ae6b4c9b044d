/** `npm run bench -- server`: measures what a turn costs a server. */

import { writeFile } from 'node:fs/promises'
import { Command, CommanderError } from 'commander'
import { writable } from '../cli/values.ts'
import { environment, loadNow } from '../environment.ts'
import { shownParts } from '../progress.ts'
import { PLAN, SHORT_PLAN } from './plan.ts'

interface Given {
  readonly short?: true
  readonly json?: string
  readonly markdown?: string
}

function commandOf(): Command {
  return new Command('bench server')
    .description(
      'Measures what a turn costs a server: threads over each store next to the AI SDK, long threads, pages that join a turn, and durable runs. It needs PostgreSQL on this machine, which it starts by itself.',
    )
    .option('--short', 'a few turns of each kind, in some seconds: for checks, its figures mean nothing')
    .option('--json <file>', 'write the figures', writable)
    .option('--markdown <file>', 'write the page docs/server-costs.md', writable)
    .addHelpText('after', '\nTakes about 15 minutes. docs/bench.md says how to read the results.')
    .allowExcessArguments(false)
    .showHelpAfterError('(see --help)')
    .exitOverride()
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
  const { printedCosts, serverCostsPage } = await import('./page.ts')
  const { short, json, markdown } = given
  const plan = short ? SHORT_PLAN : PLAN
  const before = environment()
  try {
    const cost = await shownParts(
      '{value} of {total} parts · {what}',
      { parts: partsOf(plan), before: 'starting PostgreSQL' },
      (onPart) => measureServer({ plan, signal, onPart }),
    )
    const machine = { ...before, loadAverageAfter: loadNow() }
    console.log(printedCosts(cost, plan, machine))
    if (json !== undefined) await writeFile(json, `${JSON.stringify({ ...machine, plan, ...cost }, null, 2)}\n`)
    if (markdown !== undefined) await writeFile(markdown, serverCostsPage(cost, plan, machine))
    return 0
  } catch (error) {
    if (!(error instanceof NoPostgresError)) throw error
    console.error(error.message)
    return 1
  }
}
