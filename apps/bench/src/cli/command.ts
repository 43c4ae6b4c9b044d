/** Defines the options of the command line, and which of them contradict one another. */

import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import { Command, Option, type OutputConfiguration } from 'commander'
import { MODES, type Mode } from '../modes.ts'
import type { ToolFacts } from '../replay/tool-facts.ts'
import { DEFAULT_RUNS, DURABLE_RUNS, FULL_RUNS, mayShare, PICTURES_RUNS, SAVES_RUNS, THREAD_RUNS } from '../run-plan.ts'
import { ALL_SCENARIOS, DEFAULT_SCENARIOS, DROP_IN_SCENARIOS, SCENARIOS, type ScenarioId } from '../scenarios.ts'
import { otlpPathOf } from '../trace-files.ts'
import { TRANSPORTS, type TransportName } from '../transport.ts'
import { helpText } from './help.ts'
import { collected, listOf, oneOf, positive, readable, toolFacts, url, writable } from './values.ts'

export const DEFAULT_COLLECTOR = 'http://localhost:4318'

/** The default files of a measurement. */
export const FILES = { json: 'results.json', report: 'report.html' } as const

export const RECORDING = 'recording.json'

/** The options as commander returns them. */
export interface Given {
  readonly scenario?: readonly ScenarioId[]
  readonly workload?: readonly string[]
  readonly replay?: string
  readonly tool?: readonly (readonly [name: string, ToolFacts])[]
  readonly wire?: readonly WireName[]
  readonly mode?: readonly Mode[]
  readonly runs?: number
  readonly transport: TransportName
  readonly peers?: string | true
  readonly dropIns?: true
  readonly threads?: true
  readonly durable?: true
  readonly saves?: true
  readonly pictures?: string
  readonly baseUrl?: string
  readonly model?: string
  readonly keyEnv?: string
  readonly record?: string
  readonly recording?: string
  readonly json?: string
  readonly report?: string
  readonly markdown?: string
  readonly otlp?: string | true
  readonly traces?: string
  readonly devtools?: true
  readonly full?: true
  readonly faults?: true
  readonly loops?: true
  readonly overhead?: true
  readonly against?: string
}

/** Throws a `CommanderError` after printing help or an error. */
export function commandOf(output: OutputConfiguration): Command {
  const usual = DEFAULT_SCENARIOS.join(',')
  return new Command('bench')
    .description(
      'Measures how much time eager tools save, compared with tools one by one and with parallel tools after the stream.',
    )
    .option('--scenario <ids>', `which scenarios (default: ${usual}; none with a workload or a replay)`, scenarioIds)
    .option('--workload <file>', 'a workload file; may be given several times', collected(readable))
    .option(
      '--replay <file>',
      'replay what --record has written, at its own times, with tools that --tool describes',
      readable,
    )
    .option('--tool <name=ms:effect>', 'the duration and effect of a tool of the replay', collected(toolFacts))
    .option('--wire <names>', `which wire formats, of ${WIRE_NAMES.join(', ')} (default: all)`, listOf(WIRE_NAMES))
    .option(
      '--mode <names>',
      `how the tools run, of ${MODES.join(', ')} (default: all, floor with d and e)`,
      listOf(MODES),
    )
    .option('--runs <n>', `runs of each (default: ${runsByDefault()})`, positive)
    .option(
      '--transport <name>',
      'server: in a separate process; msw: mocked in this process',
      oneOf(TRANSPORTS),
      'server',
    )
    .option('--peers [folder]', 'also measure other libraries, installed in a folder (default: this one)', readable)
    .addOption(
      new Option(
        '--drop-ins',
        `only loops of the AI SDK, LangChain and OpenAI Agents, with and without eager(), ${FULL_RUNS} runs of each (default scenarios: ${DROP_IN_SCENARIOS.join(',')})`,
      ).conflicts(WITHOUT_LOOPS),
    )
    .addOption(
      new Option(
        '--threads',
        `only the cost of a thread: scenario b as a run and as a turn, alternating, ${THREAD_RUNS} of each`,
      ).conflicts(allExcept('threads', 'runs')),
    )
    .addOption(
      new Option(
        '--durable',
        `only what a checkpoint, an engine and an event log cost a run, ${DURABLE_RUNS} runs of each one at a time; it requires PostgreSQL`,
      ).conflicts(allExcept('durable', 'runs')),
    )
    .addOption(
      new Option(
        '--saves',
        `only how often a step with many calls is saved on each store, ${SAVES_RUNS} runs of each step`,
      ).conflicts(allExcept('saves', 'runs')),
    )
    .addOption(
      new Option(
        '--pictures <folder>',
        `only the pictures of README and home page and their figures, ${PICTURES_RUNS} runs of each; nothing is written if the server was late`,
      ).conflicts(allExcept('pictures', 'runs')),
    )
    .addOption(
      new Option('--base-url <url>', 'only a real model, with our own prompts and tools')
        .argParser(url(API))
        .conflicts(MOCKED),
    )
    .option('--model <name>', 'the model of --base-url')
    .option('--key-env <variable>', 'the environment variable with its key (default: no key is sent)')
    .addOption(
      new Option('--record <url>', 'only record a real endpoint, which your own client calls')
        .argParser(url(API))
        .conflicts([...MOCKED, ...MEASURED]),
    )
    .option('--recording <file>', `the file of --record (default: ${RECORDING})`, writable)
    .option('--json <file>', `the results as data (default: ${FILES.json}; with only the fault matrix: none)`, writable)
    .option(
      '--report <file>',
      `the results as one page (default: ${FILES.report}; with only the fault matrix: none)`,
      writable,
    )
    .option(
      '--markdown <file>',
      'with --drop-ins: write the table of docs/drop-ins.md; with --loops: that of docs/resilient.md',
      writable,
    )
    .option(
      '--otlp [url]',
      `send the spans of the measured runs to a collector, such as Jaeger (default URL: ${DEFAULT_COLLECTOR})`,
      url(DEFAULT_COLLECTOR),
    )
    .option(
      '--traces <file>',
      `the spans as a file for Jaeger's page, such as traces.json, and next to it as OTLP (${otlpPathOf('traces.json')})`,
      writable,
    )
    .option('--devtools', 'show the measured runs in the devtools at the end, until Ctrl-C')
    .option('--full', `every scenario, ${FULL_RUNS} runs of each mode: about nine minutes`)
    .option(
      '--faults',
      'the fault matrix: which wrong executions our rule and the rules of others cause; only this if no scenario is named',
    )
    .option(
      '--loops',
      'with --faults: also cut the responses of loops of other libraries at every event, in some minutes',
    )
    .option('--overhead', 'only what core itself and its spans cost in time, memory and size, next to the limits')
    .option(
      '--against <folder>',
      'with --overhead: compare the CPU time of core with that of the built core in a folder',
      readable,
    )
    .addHelpText('after', helpText())
    .allowExcessArguments(false)
    .showHelpAfterError('(see --help)')
    .configureOutput(output)
    .exitOverride()
}

const API = 'https://api.openai.com'

/** Options that only work with our own endpoint. */
const MOCKED = [
  'scenario',
  'workload',
  'replay',
  'peers',
  'dropIns',
  'threads',
  'durable',
  'saves',
  'pictures',
  'full',
  'faults',
  'overhead',
]

/** Options that do not work with loops of other libraries. */
const WITHOUT_LOOPS = [
  'workload',
  'replay',
  'peers',
  'mode',
  'full',
  'faults',
  'overhead',
  'otlp',
  'traces',
  'devtools',
]

const MEASURED = ['baseUrl', 'mode', 'runs', 'wire', 'json', 'report', 'otlp', 'traces', 'devtools']

/** All options that measure something else, except these. */
function allExcept(...names: readonly string[]): string[] {
  return [...MOCKED, ...MEASURED].filter((name) => !names.includes(name))
}

/** Contradictions that commander itself does not find. */
export function contradictionIn(given: Given): string | undefined {
  const { baseUrl, model, keyEnv, wire, faults, scenario, full } = given
  if (baseUrl === undefined && (model !== undefined || keyEnv !== undefined))
    return '--model and --key-env need --base-url'
  if (baseUrl !== undefined && model === undefined) return '--base-url needs a --model'
  if (baseUrl !== undefined && wire?.length !== 1) return `--base-url needs one --wire, of ${WIRE_NAMES.join(', ')}`
  if (baseUrl !== undefined && given.mode?.every((mode) => mode === 'floor'))
    return '--base-url only runs agents: the --mode floor is not an agent'
  if (given.against !== undefined && !given.overhead) return '--against needs --overhead'
  if (given.markdown !== undefined && !given.dropIns && !given.loops) return '--markdown needs --drop-ins or --loops'
  if (given.loops && !faults) return '--loops needs --faults'
  if (given.tool && given.replay === undefined) return '--tool needs --replay'
  if (given.recording !== undefined && given.record === undefined) return '--recording needs --record'
  if ((given.peers !== undefined || given.dropIns) && given.transport === 'msw')
    return '--peers and --drop-ins need --transport server, because they run in separate processes'
  if (given.dropIns && scenario?.some((id) => !mayShare(SCENARIOS[id])))
    return '--drop-ins measures only paced scenarios: not d or e'
  const alone = faults && !scenario && !full && !given.workload && !given.replay && !given.peers
  if (alone && (given.otlp !== undefined || given.traces !== undefined || given.devtools)) {
    return 'only measured runs have spans, and the fault matrix has none: name a --scenario'
  }
  return sharedFile(given)
}

function sharedFile({
  json = FILES.json,
  report = FILES.report,
  markdown,
  traces,
  overhead,
}: Given): string | undefined {
  if (overhead) return undefined
  const more = [
    ...(markdown === undefined ? [] : [markdown]),
    ...(traces === undefined ? [] : [traces, otlpPathOf(traces)]),
  ]
  const named = [json, report, ...more]
  // A device accepts any number of files.
  const files = named
    .map((file) => resolve(file))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() ?? true)
  const twice = files.find((file, index) => files.indexOf(file) < index)
  return twice && `two things would be written to ${twice}: name another file for one of them`
}

/** `d` means all of d50, d100 and d200. */
function scenarioIds(text: string): readonly ScenarioId[] {
  const all = ALL_SCENARIOS.filter((id) => id.startsWith('d'))
  return listOf(ALL_SCENARIOS)(text.replace(/(^|,)\s*d\s*(?=,|$)/g, `$1${all.join(',')}`))
}

function runsByDefault(): string {
  return MODES.map((mode) => `${mode} ${DEFAULT_RUNS[mode]}`).join(', ')
}
