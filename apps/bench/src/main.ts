/** From a command line to results: measures, prints, writes. */

import { writeFile } from 'node:fs/promises'
import { CommanderError } from 'commander'
import { barsOf } from './bars.ts'
import { type BenchOptions, parseOptions } from './cli.ts'
import { environment } from './environment.ts'
import { forbiddenOf } from './faults/judge.ts'
import { faultMatrix, sumOfCells } from './faults/matrix.ts'
import { faultTable } from './faults/table.ts'
import { overhead } from './overhead/overhead.ts'
import { missed, overheadTable } from './overhead/table.ts'
import { progressOf } from './progress.ts'
import { reportOf } from './report/report.ts'
import { cellsOf, type Results, UNITS } from './results.ts'
import { planOf } from './run-plan.ts'
import { runPlan } from './runner.ts'
import { tableOf } from './table.ts'
import { traceFiles } from './trace-files.ts'
import { startTraces } from './traces.ts'
import { openTransport } from './transport.ts'
import { transportLag } from './transport-lag.ts'

/** Gives the exit code: 0, 1 if a run failed or a tool was executed wrongly, 2 for a command line it does not understand, 130 and 143 if it was stopped. */
export async function main(args: readonly string[]): Promise<number> {
  let options: BenchOptions
  try {
    options = parseOptions(args)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
  const stop = new AbortController()
  const stopped = (name: NodeJS.Signals): void => stop.abort(name)
  process.once('SIGINT', stopped).once('SIGTERM', stopped)
  try {
    return await (options.overhead ? ownCost(stop.signal) : bench(options, stop.signal))
  } catch (error) {
    if (!stop.signal.aborted) throw error
    console.error('Stopped; nothing was written.')
    return stop.signal.reason === 'SIGINT' ? 130 : 143
  } finally {
    process.off('SIGINT', stopped).off('SIGTERM', stopped)
  }
}

/** 1 if core costs more than it may. */
async function ownCost(signal: AbortSignal): Promise<number> {
  const figures = await overhead(signal)
  console.log(overheadTable(figures))
  return missed(figures).length > 0 ? 1 : 0
}

async function bench(options: BenchOptions, signal: AbortSignal): Promise<number> {
  const { spans, ...results } = await measured(options, signal)
  const { environment, cells, ...rest } = results
  const entries = cells.map(({ entry }) => entry)
  const bars = barsOf(entries)
  if (entries.length > 0) console.log(tableOf(entries, results.transportLagMs))
  if (results.faults) console.log(faultTable(results.faults))
  const { json, report } = options
  if (json !== undefined) {
    const data = { units: UNITS, ...environment, ...rest, bars, results: entries }
    await writeFile(json, `${JSON.stringify(data, null, 2)}\n`)
  }
  if (report !== undefined) await writeFile(report, reportOf(results))
  const traces = options.traces !== undefined && spans !== undefined ? traceFiles(options.traces, spans) : []
  for (const { path, text } of traces) await writeFile(path, text)
  const written = [json, report, ...traces.map(({ path }) => path)].filter((file) => file !== undefined)
  if (written.length > 0) console.log(`Written: ${new Intl.ListFormat('en').format(written)}`)
  const forbidden = results.faults !== undefined && forbiddenOf(sumOfCells(results.faults).rules.ours) > 0
  return forbidden || entries.some(({ failed }) => failed.length > 0) ? 1 : 0
}

interface Traced {
  /** As OTLP/JSON, if a file of them is asked for. */
  readonly spans?: string
}

async function measured(options: BenchOptions, signal: AbortSignal): Promise<Results & Traced> {
  const machine = environment()
  const timed = options.scenarios.length > 0 ? await timedRuns(options, signal) : { transportLagMs: null, cells: [] }
  const peakRssMb = Math.round(process.resourceUsage().maxRSS / 1024)
  const faults = options.faults ? await faultMatrix(signal) : undefined
  return { environment: machine, options, ...timed, peakRssMb, ...(faults && { faults }) }
}

type Timed = Pick<Results, 'transportLagMs' | 'cells'>

async function timedRuns(options: BenchOptions, signal: AbortSignal): Promise<Timed & Traced> {
  const plan = planOf(options)
  const progress = progressOf(plan)
  const { otlp, traces: file } = options
  const keep = file !== undefined
  const traces = otlp !== undefined || keep ? await startTraces({ otlp, keep, say: console.error }) : undefined
  let timed: Timed
  try {
    await using transport = await openTransport(options.transport, signal)
    const made = await runPlan(plan, { transport, signal, onMade: (run) => progress.made(run) })
    timed = { transportLagMs: await transportLag(transport, signal), cells: cellsOf(made) }
  } finally {
    progress.stop()
    await traces?.stop()
  }
  return { ...timed, ...(traces && keep && { spans: traces.kept() }) }
}
