/** The middleware `retryTool()`: repeats a failed execution of a tool. */

import {
  AgentError,
  checkOptions,
  type Middleware,
  messageOf,
  OutcomeUnknownError,
  type Run,
  type ToolCall,
  ToolDiscardedError,
  ToolInputError,
  ToolOutputError,
  UnknownToolError,
} from '@meanwhile/core'
import { branded, checkedInput, isJudgedByInput, judgeCall } from '@meanwhile/core/calls'
import { BACKOFF, type BackoffOptions, backoff, wait } from './backoff.ts'
import { checkCounts, checkFunctions } from './check-options.ts'
import { type MayBeMissing, namedTools } from './named-tools.ts'

/** The options of `retryTool`. */
export interface RetryToolOptions extends BackoffOptions, MayBeMissing {
  /**
   * Names of the tools to retry (an alias means its tool). Default: calls with the effect `read` or `idempotent`. A tool with the effect `calls`
   * must be named: a further attempt then gets the results that its calls had in the previous attempt, if it makes them
   * with the same ids.
   */
  readonly tools?: readonly string[]
  /** Retries after the first attempt. Default 2. */
  readonly maxRetries?: number
  /**
   * Whether to retry. Default: always. It is not called for errors that are never retried. It receives the call, so
   * with this option each call waits for its whole input: none starts with only the members that its tool `needs`.
   */
  readonly when?: (error: unknown, at: ToolAttempt) => boolean
}

/** A failed attempt of a tool call. */
export interface ToolAttempt {
  /** The call. */
  readonly call: ToolCall
  /** How many attempts have failed. */
  readonly attempt: number
  /** Whether no retry is left. */
  readonly isLast: boolean
}

const NAME = 'retry-tool'

/**
 * Executes a tool again when it throws: the same call, with the same `idempotencyKey` and the next `attempt`. After the
 * last attempt the model reads the last error and the number of attempts.
 *
 * Before each wait there is a `custom` event `retry-wait` with the number of failed attempts (`attempt`) and the
 * milliseconds of the wait (`waitMs`).
 *
 * Never retried: errors that a retry cannot fix (input that fails the schema, an unknown tool, an output that the model
 * cannot read), calls that may have happened (`OutcomeUnknownError`), stops (an abort, a cancel, a discard, an
 * `AgentError`), returned error results, and calls that could act on the world twice, unless their tool is named.
 */
export function retryTool(options: RetryToolOptions = {}): Middleware {
  checkOptions('retryTool', options, {
    tools: '',
    maxRetries: 'maxAttempts',
    when: 'retryOn',
    mayBeMissing: '',
    ...BACKOFF,
  })
  const { tools, maxRetries = 2, when } = options
  checkCounts({ maxRetries })
  checkFunctions({ when })
  const named = tools && namedTools('retryTool', 'tools', tools, options)
  const delay = backoff(options)
  return branded('middleware', {
    name: NAME,
    ignoresInput: when === undefined,
    ...named?.hook,
    async *wrapToolCall(call, next, run) {
      for (let attempt = 1; ; attempt++) {
        try {
          return yield* next(call)
        } catch (error) {
          const isLast = attempt > maxRetries
          const repeats =
            !run.signal.aborted &&
            !isFinal(error) &&
            (named ? named.hasName(call.name, run) : await isSafe(call, run)) &&
            (when?.(error, { call, attempt, isLast }) ?? true)
          if (!repeats || isLast) throw attempt === 1 || isFinal(error) ? error : counted(error, attempt)
          const waitMs = Math.ceil(delay(attempt))
          yield { type: 'custom', name: 'retry-wait', data: { attempt, waitMs }, source: NAME }
          await wait(waitMs, run.signal)
        }
      }
    },
  })
}

/**
 * Whether a retry cannot help: the error ends the run or the call, or came before the tool was called or after it had
 * finished.
 */
function isFinal(error: unknown): boolean {
  return (
    error instanceof AgentError ||
    error instanceof OutcomeUnknownError ||
    error instanceof ToolInputError ||
    error instanceof ToolOutputError ||
    error instanceof UnknownToolError ||
    error instanceof ToolDiscardedError
  )
}

/** Whether calling twice has the same effect as calling once. */
async function isSafe(call: ToolCall, run: Run): Promise<boolean> {
  const tool = run.setup.tools.find(({ name }) => name === call.name)
  if (!tool) return false
  try {
    // A call that started with the members its tool needs has only these, so its input cannot be checked. Such a tool
    // is `read`.
    const input = isJudgedByInput(tool) ? await checkedInput(tool, call) : undefined
    const { effect } = judgeCall(tool, input)
    return effect === 'read' || effect === 'idempotent'
  } catch {
    return false
  }
}

function counted(error: unknown, tries: number): Error {
  return new Error(`${messageOf(error)} (tried ${tries} times)`, { cause: error })
}
