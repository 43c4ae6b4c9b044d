/** Records how often tools ran, with which input, and when; with assertions about it. */

import type { Progress, Tool, ToolContext } from '@meanwhile/core'
import { clock } from '../clock.ts'
import { shown } from '../difference.ts'
import { HarnessError } from '../errors.ts'

/** One execution of a tool. Times are read from the clock given to {@link watchTools}. */
export interface Execution {
  /** The name of the tool. */
  readonly tool: string
  /** The id of the call. */
  readonly callId: string
  /** The idempotency key: the same for all executions of one logical call. */
  readonly key: string
  /** The input that the tool received. */
  readonly input: unknown
  /** When it started. */
  readonly start: number
  /** Absent while it runs. */
  end?: number
  /** The error it threw; absent if it threw none. */
  error?: unknown
  /** Whether its signal was aborted while it ran. */
  aborted: boolean
}

/** Tools whose executions are recorded. */
export interface WatchedTools {
  /** The same tools, with their executions recorded. */
  readonly tools: readonly Tool[]
  /** In the order in which they started. */
  readonly executions: readonly Execution[]
}

/** Tools did not run as often as expected. */
export class ExecutionsError extends HarnessError {
  static override readonly brand: string = 'ExecutionsError'
}

/**
 * Records every execution of these tools. `now`: the clock; default the harness's clock. Pass a virtual clock's `now`
 * to use its time.
 */
export function watchTools(
  tools: readonly Tool[],
  { now = clock }: { readonly now?: () => number } = {},
): WatchedTools {
  const executions: Execution[] = []
  return { tools: tools.map(watched), executions }

  function watched(tool: Tool): Tool {
    // A tool without `execute` is executed by its caller, not here.
    const inner = tool.execute?.bind(tool)
    return inner ? { ...tool, execute } : tool

    function execute(input: unknown, context: ToolContext): ReturnType<NonNullable<typeof inner>> {
      const { callId, idempotencyKey, signal } = context
      const execution: Execution = { tool: tool.name, callId, key: idempotencyKey, input, start: now(), aborted: false }
      executions.push(execution)
      const abort = (): void => void (execution.aborted = true)
      signal.addEventListener('abort', abort)
      const ended: Ended = (outcome) => {
        signal.removeEventListener('abort', abort)
        Object.assign(execution, outcome, { end: now() })
      }
      try {
        const output = inner?.(input, context)
        if (isGenerator(output)) return told(output, ended)
        if (output instanceof Promise) return settled(output, ended)
        ended({})
        return output
      } catch (error) {
        ended({ error })
        throw error
      }
    }
  }
}

/**
 * Asserts that no logical call ran more than once.
 *
 * @throws {ExecutionsError} One did.
 */
export function assertRanOnce(executions: readonly Execution[]): void {
  for (const { key, tool, input } of executions) {
    const runs = executions.filter((execution) => execution.key === key)
    if (runs.length === 1) continue
    const ids = runs.map((run) => run.callId).join(', ')
    throw new ExecutionsError(`${tool}(${shown(input)}) ran ${runs.length} times for one call (${ids}; key ${key})`)
  }
}

/**
 * Asserts that the same tools ran with the same inputs and equally often, in any order.
 *
 * @throws {ExecutionsError} They did not.
 */
export function assertSameExecutions(actual: readonly Execution[], expected: readonly Execution[]): void {
  const counts = new Map<string, number>()
  const count = (execution: Execution, by: number): void => {
    const what = `${execution.tool}(${JSON.stringify(execution.input)})`
    counts.set(what, (counts.get(what) ?? 0) + by)
  }
  for (const execution of actual) count(execution, 1)
  for (const execution of expected) count(execution, -1)
  const wrong = [...counts].filter(([, more]) => more !== 0)
  if (wrong.length === 0) return
  const lines = wrong.map(([what, more]) => `\n  ${what}: ${Math.abs(more)} ${more > 0 ? 'too many' : 'missing'}`)
  throw new ExecutionsError(`the executions differ:${lines.join('')}`)
}

type Ended = (outcome: { readonly error?: unknown }) => void

async function settled(output: Promise<unknown>, ended: Ended): Promise<unknown> {
  let outcome = {}
  try {
    return await output
  } catch (error) {
    outcome = { error }
    throw error
  } finally {
    ended(outcome)
  }
}

async function* told(output: AsyncGenerator<Progress, unknown>, ended: Ended): AsyncGenerator<Progress, unknown> {
  let outcome = {}
  try {
    return yield* output
  } catch (error) {
    outcome = { error }
    throw error
  } finally {
    ended(outcome)
  }
}

function isGenerator(output: unknown): output is AsyncGenerator<Progress, unknown> {
  return typeof output === 'object' && output !== null && Symbol.asyncIterator in output && 'return' in output
}
