/** A tool that takes as long as its call is to take, and notes when it was entered and when it settled. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type Tool, tool } from '@meanwhile/core'
import { clock } from '@meanwhile/harness/server'
import { z } from 'zod'
import type { Scenario } from './scenarios.ts'

/** One execution, by the clock that the server's log is written by. */
export interface ToolRun {
  readonly input: { readonly key: string; readonly content: string }
  readonly entered: number
  readonly settled: number
}

const INPUT = z.object({ key: z.string(), content: z.string() })

/** Works on a task, and gives what to tell the model. */
export type Work = (input: ToolRun['input'], signal: AbortSignal) => Promise<string>

export function measuredWork(scenario: Scenario, runs: ToolRun[]): Work {
  const durations = new Map(scenario.calls.map(({ input, toolMs }) => [input.key, toolMs]))
  return async (input, signal) => {
    const entered = clock()
    await passed(entered + (durations.get(input.key) ?? 0), signal)
    runs.push({ input, entered, settled: clock() })
    return `${input.key} is done`
  }
}

/** Declared `read`, so that it may start as soon as its arguments are complete. */
export function measuredTool(scenario: Scenario, work: Work): Tool {
  return tool({
    name: scenario.tool,
    description: 'Works on a task for a while.',
    input: INPUT,
    effect: scenario.effect ?? 'read',
    execute: (input, { signal }) => work(input, signal),
  })
}

/** Resolves not before the given time: a timer alone may fire up to a millisecond early. */
async function passed(due: number, signal: AbortSignal): Promise<void> {
  for (let left = due - clock(); left > 0; left = due - clock()) await sleep(left, undefined, { signal })
}
