/** A real endpoint, measured: who is asked, and what is to be said of the figures. */

import { NO_KEY } from '../agents.ts'
import type { BenchOptions, LiveOptions } from '../cli.ts'
import { count } from '../format.ts'
import { type Job, planOf } from '../run-plan.ts'
import { UsageError } from '../usage-error.ts'
import { withoutVersion } from '../without-version.ts'
import { type LiveAccess, type LiveBench, liveBench } from './measure-live.ts'
import { LIVE_PROMPTS } from './prompts.ts'

export interface Live {
  readonly plan: readonly Job[]
  /** One run that nobody is told of: it opens the connection. */
  readonly warmUp: readonly Job[]
  readonly measure: LiveBench['measure']
  /** To be asked when all runs are made. */
  remarks(): readonly string[]
}

type Extent = Pick<BenchOptions, 'wires' | 'modes' | 'runs'>

/** Throws a {@link UsageError} if the key is not where it should be. */
export function liveOf(options: LiveOptions, { wires, modes, runs }: Extent, prompts = LIVE_PROMPTS): Live {
  const bench = liveBench(accessOf(options), prompts)
  const scenarios = prompts.map(({ scenario }) => scenario)
  const ways = modes.filter((mode) => mode !== 'floor')
  const plan = planOf({ scenarios, wires, ways, runs })
  return {
    plan,
    warmUp: plan.filter(({ scenario }) => scenario.id === 'single').slice(0, 1),
    measure: bench.measure,
    remarks: () => [...REMARKS, spent(bench, options)],
  }
}

function accessOf({ url, model, keyEnv }: LiveOptions): LiveAccess {
  const apiKey = keyEnv === undefined ? NO_KEY : process.env[keyEnv]
  if (!apiKey) throw new UsageError(`--key-env: the environment has no ${keyEnv}`)
  return { url: withoutVersion(url), model, apiKey }
}

const REMARKS: readonly string[] = [
  'A real model says something else each time, at another speed: saved compares two such answers, and means little with few runs. predicted is what each eager run saved against its own stream with the tools in parallel after it: that is the figure to go by.',
  'Not known, as the server is not ours: when it wrote its bytes. So there is no bound, no dispatch lag, nothing possible, and no run is thrown out because its server was late.',
  'The tools are stand-ins of fixed duration. Runs in which the model made other calls than it was asked for are not counted, and are told as failed. The first run, which opens the connection, is in no figure.',
]

function spent(bench: LiveBench, { model }: LiveOptions): string {
  const { requests, inputTokens, outputTokens } = bench.spent()
  const tokens = [inputTokens, outputTokens].map((number) => number.toLocaleString('en'))
  return `${model} was asked ${count(requests, 'time')} in runs without failure: ${tokens[0]} tokens in, ${tokens[1]} out, by its own account.`
}

/** Before anything is asked: it may cost something. */
export function announcement(runs: number, { url, model }: LiveOptions): string {
  return `Asking ${model} at ${url}: ${count(runs, 'run')} of about two requests each.`
}
