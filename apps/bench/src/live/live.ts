/** Prepares the measurement of a real endpoint, and the notes about its figures. */

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
  /** One run that opens the connection; it is not reported. */
  readonly warmUp: readonly Job[]
  readonly measure: LiveBench['measure']
  /** Called when all runs are made. */
  remarks(): readonly string[]
}

type Extent = Pick<BenchOptions, 'wires' | 'modes' | 'runs'>

/** Throws a {@link UsageError} if the key is missing. */
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
  'A real model answers differently each time, at another speed: saved compares two such answers, and means little with few runs. predicted is what each eager run saved, compared with its own stream and parallel tools after it: use this figure.',
  'Unknown, because the server is not ours: when it wrote its bytes. So there is no bound, no dispatch lag and no possible saving, and no run is dropped because its server was late.',
  'The tools are stand-ins of fixed duration. Runs in which the model made other calls than requested are not counted, and are shown as failed. The first run, which opens the connection, is not included.',
]

function spent(bench: LiveBench, { model }: LiveOptions): string {
  const { requests, inputTokens, outputTokens } = bench.spent()
  const tokens = [inputTokens, outputTokens].map((number) => number.toLocaleString('en'))
  return `${model} was called ${count(requests, 'time')} in successful runs: ${tokens[0]} tokens in, ${tokens[1]} out, as it reports.`
}

/** Printed before the first request, because requests may cost money. */
export function announcement(runs: number, { url, model }: LiveOptions): string {
  return `Calling ${model} at ${url}: ${count(runs, 'run')} of about two requests each.`
}
