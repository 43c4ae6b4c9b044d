/** Runs the benchmark for a command line: measures, prints, writes. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CommanderError } from 'commander'
import { barsOf } from './bars.ts'
import { type BenchOptions, parseOptions } from './cli.ts'
import { showInDevtools } from './devtools.ts'
import { dropInBars } from './drop-ins/bars.ts'
import { dropInsMarkdown } from './drop-ins/markdown.ts'
import { problemsOf } from './drop-ins/notes.ts'
import { dropInsTable } from './drop-ins/table.ts'
import { environment, loadNow } from './environment.ts'
import { forbiddenOf } from './faults/judge.ts'
import { loopsMarkdown } from './faults/loops/markdown.ts'
import { brokenLoops } from './faults/loops/summary.ts'
import { loopsTable } from './faults/loops/table.ts'
import { triedLoops } from './faults/loops/try-loops.ts'
import { faultMatrix, sumOfCells } from './faults/matrix.ts'
import { faultTable } from './faults/table.ts'
import { against, PLAN, roundsOf } from './overhead/against/against.ts'
import { againstTable, missedAgainst } from './overhead/against/table.ts'
import { WORKS } from './overhead/against/works.ts'
import { overhead } from './overhead/overhead.ts'
import { missed, overheadTable } from './overhead/table.ts'
import { peersTable } from './peers/table.ts'
import { figuresOf, NoFiguresError, PICTURED, PICTURED_MODES, PICTURED_WIRE } from './pictures/figures.ts'
import { pictureFiles } from './pictures/files.ts'
import { shownParts } from './progress.ts'
import { record } from './record.ts'
import { type Results, UNITS } from './results.ts'
import { runsOf } from './run-plan.ts'
import { SCENARIOS } from './scenarios.ts'
import { serverCosts } from './server/command.ts'
import { stopOnSignals } from './stop-on-signals.ts'
import { tableOf } from './table.ts'
import { measureThreads, runsInAll } from './threads/measure-threads.ts'
import { threadBars, threadsTable } from './threads/table.ts'
import { type Timed, timedRuns } from './timed-runs.ts'
import { traceFiles } from './trace-files.ts'
import { UsageError } from './usage-error.ts'

/** The first argument if only the costs of a server are measured. The options of that measurement follow. */
const SERVER = 'server'

/** Returns the exit code: 0, 1 if a run failed or a tool was executed wrongly, 2 for an error of the user, 130 and 143 if it was stopped. */
export async function main(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  if (first === SERVER) return await stoppable((signal) => serverCosts(rest, signal))
  let options: BenchOptions
  try {
    options = parseOptions(args)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
  return await stoppable((signal) => action(options, signal))
}

/** Does the work until it has ended, or until a signal stops it. */
async function stoppable(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const stop = new AbortController()
  using _ = stopOnSignals(stop)
  try {
    return await work(stop.signal)
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`error: ${error.message}`)
      return 2
    }
    if (!stop.signal.aborted) throw error
    console.error('Stopped; nothing was written.')
    return stop.signal.reason === 'SIGINT' ? 130 : 143
  }
}

async function action(options: BenchOptions, signal: AbortSignal): Promise<number> {
  if (options.against !== undefined) return await costAgainst(options.against, signal)
  if (options.overhead) return await ownCost(signal)
  if (options.threads) return await threadCost(options.threads.runs, signal)
  if (options.durable) return await durableCost(options.durable.runs, signal)
  if (options.saves) return await savesOfSteps(options.saves.runs, signal)
  if (options.pictures) return await pictures(options, options.pictures, signal)
  if (options.record) return (await record({ ...options.record, signal, say: console.error })) > 0 ? 0 : 1
  return await bench(options, signal)
}

/** 1 if core costs more than its limits. */
async function ownCost(signal: AbortSignal): Promise<number> {
  const figures = await overhead(signal)
  console.log(overheadTable(figures))
  return missed(figures).length > 0 ? 1 : 0
}

/** 1 if core takes more CPU time than its limit, compared with the older core in the folder. */
async function costAgainst(folder: string, signal: AbortSignal): Promise<number> {
  const result = await shownParts(
    '{value} of {total} rounds · {what}',
    { parts: roundsOf(PLAN), before: 'building core' },
    (onPart) => against({ folder, signal, onRound: (work) => onPart(WORKS[work].title) }),
  )
  console.log(againstTable(result))
  return missedAgainst(result).length > 0 ? 1 : 0
}

/** 1 if a thread costs more than its limits. */
async function threadCost(runs: number, signal: AbortSignal): Promise<number> {
  const cost = await shownParts('{value} of {total} runs', { parts: runsInAll(runs) }, (onRun) =>
    measureThreads({ runs, signal, onRun }),
  )
  console.log(threadsTable(cost))
  return threadBars(cost).every(({ met }) => met) ? 0 : 1
}

/** 1 if a step is saved too often, or its time grows faster than its calls. The measurement is loaded only here, because that takes memory and time. */
async function savesOfSteps(runs: number, signal: AbortSignal): Promise<number> {
  const { measureSaves, STEPS } = await import('./saves/measure-saves.ts')
  const { measureBlocks } = await import('./saves/measure-blocks.ts')
  const { savesBars, savesTable } = await import('./saves/table.ts')
  const costs = await shownParts('{value} of {total} steps', { parts: STEPS }, (onStep) =>
    measureSaves({ runs, signal, onStep }),
  )
  const blocks = await measureBlocks(runs, signal)
  console.log(savesTable(costs, blocks))
  return savesBars(costs, blocks).every(({ met }) => met) ? 0 : 1
}

/** 1 if PostgreSQL is not installed. The measurement is loaded only here, because that takes memory and time. */
async function durableCost(runs: number, signal: AbortSignal): Promise<number> {
  const { NoPostgresError } = await import('@meanwhile/postgres-cluster')
  const { measureDurable, turnsIn } = await import('./durable/measure-durable.ts')
  const { durableTable } = await import('./durable/table.ts')
  const machine = environment()
  try {
    const cost = await shownParts(
      '{value} of {total} turns · {what}',
      { parts: turnsIn(runs), before: 'starting PostgreSQL' },
      (onTurn) => measureDurable({ runs, signal, onTurn }),
    )
    console.log(durableTable(cost, { ...machine, loadAverageAfter: loadNow() }))
    return 0
  } catch (error) {
    if (!(error instanceof NoPostgresError)) throw error
    console.error(error.message)
    return 1
  }
}

/** 1 if there are no figures to draw: a run failed, or the machine was busy. Then no file has changed. */
async function pictures(
  options: BenchOptions,
  { folder, runs }: NonNullable<BenchOptions['pictures']>,
  signal: AbortSignal,
): Promise<number> {
  const { cells } = await timedRuns(
    { ...options, scenarios: PICTURED, wires: [PICTURED_WIRE], modes: PICTURED_MODES, runs: runsOf(runs) },
    signal,
  )
  try {
    const files = pictureFiles(figuresOf(cells))
    for (const { name, text } of files) await writeFile(join(folder, name), text)
    console.log(`Written: ${files.length} files in ${folder}`)
    return 0
  } catch (error) {
    if (!(error instanceof NoFiguresError)) throw error
    console.error(`Nothing was written: ${error.message}`)
    return 1
  }
}

async function bench(options: BenchOptions, signal: AbortSignal): Promise<number> {
  const { spans, ...results } = await measured(options, signal)
  const { environment, cells, ...rest } = results
  const entries = cells.map(({ entry }) => entry)
  const bars = results.dropIns ? dropInBars(results.dropIns) : barsOf(entries)
  if (results.dropIns) console.log(dropInsTable(results.dropIns, entries, results))
  else if (entries.length > 0) console.log(tableOf(entries, results))
  if (results.peers) console.log(peersTable(entries, results.peers))
  if (results.faults) console.log(faultTable(results.faults))
  if (results.loops) console.log(loopsTable(results.loops))
  const { json, report, markdown } = options
  if (json !== undefined) {
    const data = { units: UNITS, ...environment, ...rest, bars, results: entries }
    await writeFile(json, `${JSON.stringify(data, null, 2)}\n`)
  }
  if (report !== undefined) await writeReport(report, results)
  if (markdown !== undefined && results.dropIns)
    await writeFile(markdown, dropInsMarkdown(results.dropIns, Object.values(SCENARIOS), environment))
  else if (markdown !== undefined && results.loops) await writeFile(markdown, loopsMarkdown(results.loops))
  const traces = options.traces !== undefined && spans !== undefined ? traceFiles(options.traces, spans) : []
  for (const { path, text } of traces) await writeFile(path, text)
  const written = [json, report, markdown, ...traces.map(({ path }) => path)].filter((file) => file !== undefined)
  if (written.length > 0) console.log(`Written: ${new Intl.ListFormat('en').format(written)}`)
  if (options.devtools && spans !== undefined) await showInDevtools(spans, signal)
  const forbidden =
    (results.faults !== undefined && forbiddenOf(sumOfCells(results.faults).rules.ours) > 0) ||
    (results.loops !== undefined && brokenLoops(results.loops).length > 0)
  const unmeasured = results.dropIns !== undefined && problemsOf(results.dropIns).length > 0
  return forbidden || unmeasured || entries.some(({ failed }) => failed.length > 0) ? 1 : 0
}

/** The charts are loaded only after all measurements: they take memory, and time to load. */
async function writeReport(file: string, results: Results): Promise<void> {
  const { reportOf } = await import('./report/report.ts')
  await writeFile(file, reportOf(results))
}

async function measured(options: BenchOptions, signal: AbortSignal): Promise<Results & Pick<Timed, 'spans'>> {
  const machine = environment()
  const timed = await timedRuns(options, signal)
  const peakRssMb = Math.round(process.resourceUsage().maxRSS / 1024)
  const after = { ...machine, loadAverageAfter: loadNow() }
  const faults = options.faults ? await faultMatrix({ signal }) : undefined
  const loops = options.loops ? await triedLoops(signal) : undefined
  return { environment: after, options, ...timed, peakRssMb, ...(faults && { faults }), ...(loops && { loops }) }
}
