/** Tool calls under a guard: the checks of their inputs and of their results. */

import {
  AgentError,
  type Awaitable,
  ConfigError,
  checkOptions,
  type OptionNames,
  type Run,
  type Tool,
  type ToolCall,
  type ToolFlow,
  type ToolMessage,
} from '@meanwhile/core'
import { errorMessage } from '@meanwhile/core/calls'
import { checkFunctions } from '../check-options.ts'
import type { CheckedCall } from '../checked-call.ts'
import { GuardError } from '../guard-error.ts'
import { type MayBeMissing, type NamedTools, namedTools } from '../named-tools.ts'
import { Check, type GuardContext, type GuardOf, type GuardVerdict } from './verdict.ts'

export interface GuardedCall {
  readonly call: ToolCall
  readonly tool: Tool
  readonly checked: CheckedCall | undefined
}

/** The checks of tool calls. */
export interface GuardToolOptions extends MayBeMissing {
  /** Checks a call before it runs. Its input is what the tool gets, as the schema returns it. */
  readonly before?: (call: ToolCall, context: GuardContext) => Awaitable<GuardVerdict>
  /** Checks a result, or the error of a call, before the model reads it. Not the results of background tools. */
  readonly after?: (result: ToolMessage, call: ToolCall, context: GuardContext) => Awaitable<GuardVerdict>
  /** The names of the tools whose calls are checked. An alias means its tool. Default: all tools. */
  readonly tools?: readonly string[]
  /** `end`: a check that fails ends the run with `GuardError`. Default: the model reads an error result. */
  readonly then?: 'end'
}

const NAMES: OptionNames<GuardToolOptions> = { before: '', after: '', tools: '', then: '', mayBeMissing: '' }

export class GuardedCalls {
  readonly #options: GuardToolOptions
  readonly #named: NamedTools

  /** @throws {ConfigError} An option is invalid. */
  constructor(options: GuardToolOptions) {
    checkOptions('guard', options, NAMES, 'tool.')
    const { before, after, tools, then } = options
    checkFunctions({ 'tool.before': before, 'tool.after': after })
    if (!before && !after) throw new ConfigError('tool', 'must have before, after or both')
    if (then !== undefined && then !== 'end') throw new ConfigError('tool.then', `must be end, not ${String(then)}`)
    this.#named = namedTools('guard', 'tool.tools', tools ?? [], options)
    this.#options = options
  }

  /**
   * Checks the tools of a run.
   *
   * @throws {ConfigError} A name belongs to no tool, or `after` could not see the results of a tool.
   */
  checkTools(run: Run): void {
    this.#named.check(run)
    const unseen = this.#options.after && run.setup.tools.find((tool) => tool.background && this.#covers(tool))
    if (unseen)
      throw new ConfigError(
        'tool.after',
        `cannot check what the background tool ${unseen.name} returns: name the others in tool.tools`,
      )
  }

  /** Whether the inputs of the calls of a tool are checked. */
  checksInputs(tool: Tool): boolean {
    return this.#options.before !== undefined && this.#covers(tool)
  }

  /** Makes a call with its checks. `checked`: its checked input, if its tool's inputs are checked. */
  async *call(
    { call, tool, checked }: GuardedCall,
    next: (call: ToolCall) => ToolFlow,
    run: Run,
    guard: GuardOf,
  ): ToolFlow {
    const { before, after } = this.#options
    if (before && checked) {
      const asked = { ...call, input: checked.value }
      const failure = await failureOf(guard, run, (context) => before(asked, context))
      if (failure) return await this.#failed(failure, call, run, 'Not run: the call was stopped')
    }
    if (!after || !this.#covers(tool)) return yield* next(call)
    let result: ToolMessage
    let thrown: { readonly error: unknown } | undefined
    try {
      result = yield* next(call)
    } catch (error) {
      if (error instanceof AgentError || run.signal.aborted) throw error
      thrown = { error }
      result = errorMessage(call, error)
    }
    const failure = await failureOf(guard, run, (context) => after(result, call, context))
    if (failure) {
      const hasRun = run.toolStatus(call.id)?.startedAt !== undefined
      const what = hasRun ? 'The call has run, but its result is withheld' : 'The result is withheld'
      return await this.#failed(failure, call, run, what)
    }
    // Unchanged, because it can be retried.
    if (thrown) throw thrown.error
    return result
  }

  #covers(tool: Tool): boolean {
    return this.#options.tools === undefined || this.#named.has(tool)
  }

  async #failed(failure: GuardError, call: ToolCall, run: Run, what: string): Promise<ToolMessage> {
    if (this.#options.then !== 'end')
      return errorMessage(call, `${what} by the guard ${failure.guard}${failure.reason ? `: ${failure.reason}` : '.'}`)
    // A call that nobody requests in the end must not end the run.
    await run.stood(call.id)
    throw failure
  }
}

async function failureOf(
  guard: GuardOf,
  run: Run,
  check: (context: GuardContext) => Awaitable<GuardVerdict>,
): Promise<GuardError | undefined> {
  try {
    await new Check(guard, { place: 'tool', run, check }).held()
    return undefined
  } catch (error) {
    if (error instanceof GuardError) return error
    throw error
  }
}
