/** One run, measured. */

import { clock, type ResponseLog, type WireName } from '@meanwhile/harness/server'
import { measuredRun, type RunOutcome } from './agents.ts'
import { boundOf, possibleSaving, type Stream, streamOf } from './bound.ts'
import type { Mode } from './modes.ts'
import type { Scenario, ScenarioCall } from './scenarios.ts'
import type { ToolRun } from './tools.ts'
import type { Transport } from './transport.ts'

/** What is run: one scenario, on one wire, in one mode. */
export interface Subject {
  readonly scenario: Scenario
  readonly wire: WireName
  readonly mode: Mode
}

/** What one run took. All in milliseconds. */
export interface Sample {
  /** From just before the run to its result. */
  readonly wallMs: number
  readonly boundMs: number
  /** The most that eager can save here against parallel. */
  readonly possibleMs: number
  /** Last argument byte written → tool entered, in call order. */
  readonly lagMs: readonly number[]
  /** Stream and tools done → the next request arrived. Absent without a second request. */
  readonly turnaroundMs?: number
  /** How many tools were entered before the stream's end. */
  readonly early: number
  /** What an eager run says itself that it has saved against parallel, and how long its steps took by its own account. */
  readonly predicted?: { readonly savedMs: number; readonly stepsMs: number }
  /** User time of this process, other runs of the time included. */
  readonly cpuUserMs: number
  /** How late the server's latest write was. */
  readonly latenessMs: number
  readonly timeline: Timeline
}

/** The run as a picture: milliseconds from its start. */
export interface Timeline {
  readonly streams: readonly { readonly begin: number; readonly end: number; readonly tokens: readonly number[] }[]
  readonly calls: readonly {
    readonly id: string
    readonly argsDone: number
    readonly entered: number
    readonly settled: number
  }[]
  readonly bound: number
  readonly end: number
}

/** A run that does not count: not every tool ran exactly once with the right arguments, or the answer is not the script's. */
export class RunFailedError extends Error {
  override readonly name = 'RunFailedError'
}

const TIME_LIMIT = 60_000

/** Throws a {@link RunFailedError} if the run does not count, and what the agent throws. */
export async function measure(subject: Subject, transport: Transport, signal: AbortSignal): Promise<Sample> {
  const { scenario, wire } = subject
  await using stage = await transport.stage(scenario, wire)
  const tools: ToolRun[] = []
  const run = measuredRun(subject, stage.place, tools)
  const limited = AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT)])

  const cpu = process.cpuUsage()
  const began = clock()
  const result = await run('Do the tasks.', limited)
  const ended = clock()
  const cpuUserMs = process.cpuUsage(cpu).user / 1000

  if (result.text !== scenario.answer) throw new RunFailedError(`the answer was ${excerpt(result.text)}`)
  const predicted = predictedBy(result)
  return { ...sampleOf(scenario, await stage.log(), tools, began, ended), ...(predicted && { predicted }), cpuUserMs }
}

/** Steps with calls alone: the others have nothing to save. */
function predictedBy({ savings }: RunOutcome): Sample['predicted'] {
  if (!savings) return undefined
  const withCalls = savings.steps.filter(({ calls }) => calls.length > 0)
  return { savedMs: savings.savedMs, stepsMs: withCalls.reduce((sum, { actualMs }) => sum + actualMs, 0) }
}

interface RanCall extends ScenarioCall, ToolRun {
  readonly argsDone: number
}

function sampleOf(
  scenario: Scenario,
  log: readonly ResponseLog[],
  tools: readonly ToolRun[],
  began: number,
  ended: number,
): Omit<Sample, 'cpuUserMs' | 'predicted'> {
  const streams = log.map(streamOf)
  const [first, second] = streams
  if (!first || streams.length !== scenario.script.length) {
    throw new RunFailedError(`${streams.length} requests came, not ${scenario.script.length}`)
  }
  const calls = ranCalls(scenario, log, tools)
  const bound = boundOf(first, calls, second)
  const turnaround = second && second.arrived - Math.max(first.end, ...calls.map(({ settled }) => settled))
  return {
    wallMs: ended - began,
    boundMs: bound,
    possibleMs: scenario.effect === 'external' ? 0 : possibleSaving(first, calls),
    lagMs: calls.map(({ entered, argsDone }) => entered - argsDone),
    ...(turnaround !== undefined && { turnaroundMs: turnaround }),
    early: calls.filter(({ entered }) => entered < first.end).length,
    latenessMs: Math.max(...log.map(({ lateness }) => lateness)),
    timeline: timelineOf(streams, log, calls, began, ended, bound),
  }
}

/** Each call with its one execution. Throws unless every call has exactly one, with its arguments. */
function ranCalls(scenario: Scenario, log: readonly ResponseLog[], tools: readonly ToolRun[]): RanCall[] {
  if (tools.length !== scenario.calls.length) {
    throw new RunFailedError(`${tools.length} executions of ${scenario.calls.length} calls`)
  }
  return scenario.calls.map((call) => {
    const [ran, ...more] = tools.filter(({ input }) => input.key === call.input.key)
    if (!ran || more.length > 0) throw new RunFailedError(`${call.id} was executed ${ran ? more.length + 1 : 0} times`)
    if (ran.input.content !== call.input.content) throw new RunFailedError(`${call.id} ran with other arguments`)
    const argsDone = log[0]?.argsDone[call.id]
    if (argsDone === undefined) throw new RunFailedError(`the server did not note when ${call.id} was complete`)
    return { ...call, ...ran, argsDone }
  })
}

function timelineOf(
  streams: readonly Stream[],
  log: readonly ResponseLog[],
  calls: readonly RanCall[],
  began: number,
  ended: number,
  bound: number,
): Timeline {
  return {
    streams: streams.map(({ arrived, end }, i) => ({
      begin: arrived - began,
      end: end - began,
      tokens: (log[i]?.writes ?? []).map(({ sent }) => sent - began),
    })),
    calls: calls.map(({ id, argsDone, entered, settled }) => ({
      id,
      argsDone: argsDone - began,
      entered: entered - began,
      settled: settled - began,
    })),
    bound: (streams[0]?.arrived ?? began) - began + bound,
    end: ended - began,
  }
}

function excerpt(text: string): string {
  return text === '' ? 'empty' : JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
