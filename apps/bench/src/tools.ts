/** Tools whose calls take given times, and which record when they were entered and when they settled. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type Tool, tool } from '@meanwhile/core'
import { clock } from '@meanwhile/harness/server'
import { callsOf, type Scenario } from './scenario.ts'

/** One execution, on the clock of the server's log. */
export interface ToolRun {
  readonly callId: string
  readonly tool: string
  readonly input: unknown
  readonly entered: number
  readonly settled: number
}

/** Performs a call, and returns the text for the model. */
export type Work = (call: Pick<ToolRun, 'callId' | 'tool' | 'input'>, signal: AbortSignal) => Promise<string>

/** How long a call takes, in milliseconds. */
export type Duration = (call: Pick<ToolRun, 'callId' | 'tool'>) => number

export function measuredWork(duration: Duration, runs: ToolRun[]): Work {
  return async (call, signal) => {
    const entered = clock()
    await passed(entered + duration(call), signal)
    runs.push({ ...call, entered, settled: clock() })
    return `${call.callId} is done`
  }
}

/** By the id of the call. */
export function durationsOf(scenario: Scenario): Duration {
  const durations = new Map(callsOf(scenario).map(({ id, toolMs }) => [id, toolMs]))
  return ({ callId }) => durations.get(callId) ?? 0
}

export function measuredTools({ tools }: Scenario, work: Work): readonly Tool[] {
  return tools.map(({ name, description = DESCRIPTION, input, effect }) => {
    const execute = (input: unknown, { callId, signal }: { readonly callId: string; readonly signal: AbortSignal }) =>
      work({ callId, tool: name, input }, signal)
    const settings = { name, description, input, execute }
    // There is nothing to undo: these tools have no real effect.
    return effect === 'reversible'
      ? tool({ ...settings, effect, compensate: () => undefined })
      : tool({ ...settings, effect })
  })
}

export const DESCRIPTION = 'Works on a task for a while.'

/** Does not resolve before the given time: a timer by itself may fire up to a millisecond early. */
async function passed(due: number, signal: AbortSignal): Promise<void> {
  for (let left = due - clock(); left > 0; left = due - clock()) await sleep(left, undefined, { signal })
}
