/** Measures one run against the log of its own server. */

import { isDeepStrictEqual } from 'node:util'
import type { ResponseLog } from '@meanwhile/harness/server'
import { boundOf, type Due, possibleSaving, type Stream, streamOf, type Turn } from './bound.ts'
import type { Contestant, Ran, Subject } from './contestant.ts'
import { expectedMs } from './expected.ts'
import { RunFailedError, type Sample, type Timeline } from './sample.ts'
import { callsOf, mayStartEarly, type Scenario, type ScenarioCall } from './scenario.ts'
import type { ToolRun } from './tools.ts'
import type { Transport } from './transport.ts'

/** Time in addition to the expected duration of a run. */
const GRACE = 30_000

/** Throws a {@link RunFailedError} if the run does not count, and any error of the contestant. */
export async function measure(
  subject: Subject,
  contestant: Contestant,
  transport: Transport,
  signal: AbortSignal,
): Promise<Sample> {
  const { scenario, wire } = subject
  await using stage = await transport.stage(scenario, wire)
  const limited = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(expectedMs(subject)) + GRACE)])
  const ran = await contestant(subject, stage.place, limited)
  if (ran.text !== scenario.answer) throw new RunFailedError(`the answer was ${excerpt(ran.text)}`)
  return sampleOf(scenario, await stage.log(), ran)
}

function sampleOf(scenario: Scenario, log: readonly ResponseLog[], ran: Ran): Sample {
  if (log.length !== scenario.script.length) {
    throw new RunFailedError(`${log.length} requests arrived, not ${scenario.script.length}`)
  }
  const turns = ranTurns(scenario, log, ran.tools)
  const calls = turns.flatMap((turn) => turn.calls)
  const waits = turnaroundsOf(turns)
  return {
    wallMs: ran.ended - ran.began,
    boundMs: boundOf(turns),
    possibleMs: possibleSaving(turns),
    lagMs: calls.map(({ entered, argsDone }) => entered - argsDone),
    ...(waits.length > 0 && { turnaroundMs: waits.reduce((sum, wait) => sum + wait, 0) / waits.length }),
    early: turns.reduce(
      (sum, { stream, calls }) => sum + calls.filter(({ entered }) => entered < stream.end).length,
      0,
    ),
    ...ownAccount(ran),
    cpuUserMs: ran.cpuUserMs,
    latenessMs: Math.max(...log.map(({ lateness }) => lateness)),
    timeline: timelineOf(turns, log, ran),
  }
}

/** The savings that eager tools report. Only steps with calls: the others have nothing to save. */
export function ownAccount({ savings }: Ran): Pick<Sample, 'predicted' | 'ledger'> {
  if (!savings) return {}
  const ledger = savings.steps.filter(({ calls }) => calls.length > 0)
  const stepsMs = ledger.reduce((sum, { actualMs }) => sum + actualMs, 0)
  return { predicted: { savedMs: savings.savedMs, stepsMs }, ledger }
}

interface RanCall extends Due {
  readonly id: string
  readonly entered: number
  readonly settled: number
}

interface RanTurn extends Turn {
  readonly calls: readonly RanCall[]
}

/** Throws unless every call has exactly one execution, with its arguments. */
function ranTurns(scenario: Scenario, log: readonly ResponseLog[], tools: readonly ToolRun[]): readonly RanTurn[] {
  const asked = callsOf(scenario).length
  if (tools.length !== asked) throw new RunFailedError(`${tools.length} executions of ${asked} calls`)
  return log.map((response, index) => {
    const calls = scenario.turns[index] ?? []
    const early = mayStartEarly(scenario, calls)
    return {
      stream: streamOf(response),
      calls: calls.map((call, at) => ({ ...ranCall(call, response, tools), mayStartEarly: early[at] ?? false })),
    }
  })
}

function ranCall(call: ScenarioCall, response: ResponseLog, tools: readonly ToolRun[]): Omit<RanCall, 'mayStartEarly'> {
  const { id, toolMs } = call
  const [ran, ...more] = tools.filter(({ callId }) => callId === id)
  if (!ran || more.length > 0) throw new RunFailedError(`${id} was executed ${ran ? more.length + 1 : 0} times`)
  if (ran.tool !== call.tool || !isDeepStrictEqual(ran.input, call.input)) {
    throw new RunFailedError(`${id} ran with other arguments`)
  }
  const argsDone = response.argsDone[id] ?? writeOf(call, response)
  if (argsDone === undefined) throw new RunFailedError(`the server did not record when ${id} was complete`)
  return { id, toolMs, argsDone, entered: ran.entered, settled: ran.settled }
}

function writeOf({ lastWrite }: ScenarioCall, { writes }: ResponseLog): number | undefined {
  return lastWrite === undefined ? undefined : writes[lastWrite]?.sent
}

function turnaroundsOf(turns: readonly RanTurn[]): readonly number[] {
  return turns.slice(1).flatMap(({ stream }, index) => {
    const before = turns[index]
    return before ? stream.arrived - Math.max(before.stream.end, ...before.calls.map(({ settled }) => settled)) : []
  })
}

function timelineOf(turns: readonly RanTurn[], log: readonly ResponseLog[], { began, ended }: Ran): Timeline {
  const streams: readonly Stream[] = turns.map(({ stream }) => stream)
  return {
    streams: streams.map(({ arrived, end }, index) => ({
      begin: arrived - began,
      end: end - began,
      tokens: (log[index]?.writes ?? []).map(({ sent }) => sent - began),
    })),
    calls: turns.flatMap(({ calls }) =>
      calls.map(({ id, argsDone, entered, settled }) => ({
        id,
        argsDone: argsDone - began,
        entered: entered - began,
        settled: settled - began,
      })),
    ),
    bound: (streams[0]?.arrived ?? began) - began + boundOf(turns),
    end: ended - began,
  }
}

function excerpt(text: string): string {
  return text === '' ? 'empty' : JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
