/** The middleware `callLimits()`: limits the model calls, tool calls and tokens of a run. */

import {
  AgentError,
  ConfigError,
  checkOptions,
  type Middleware,
  type ModelFlow,
  type ModelRequest,
  type Run,
  runLocal,
  type ToolCall,
  type Usage,
} from '@meanwhile/core'
import { errorMessage } from '@meanwhile/core/calls'
import { CallOrder } from './call-limits/call-order.ts'
import { checkCounts } from './check-options.ts'
import { closingCall, DEFAULT_INSTRUCTION } from './closing-call.ts'
import { isRecord } from './is-record.ts'
import { isCount, schemaOf } from './schema-of.ts'

/** Each limit is an integer of at least 0. Default: no limit. */
export interface CallLimitsOptions {
  /** The maximum number of model calls in a run. */
  readonly modelCalls?: number
  /** The maximum number of tool calls in a run. */
  readonly toolCalls?: number
  /** Limits by tool name, or one number that applies to each tool. */
  readonly perTool?: number | Readonly<Record<string, number>>
  /**
   * The maximum of input and output tokens together, as the provider reports them. Checked before each model call, so
   * the last call may exceed the limit.
   */
  readonly tokens?: number
  /** What happens at a limit. Default `error`. */
  readonly onLimit?: 'error' | 'answer'
}

/** Which limit of `callLimits` was reached. */
export type CallLimit = 'modelCalls' | 'toolCalls' | 'perTool' | 'tokens'

/** A run reached a limit. */
export class CallLimitError extends AgentError {
  override readonly name = 'CallLimitError'
  /** Which limit. */
  readonly limit: CallLimit
  /** The value of the limit. */
  readonly max: number
  /** The tool whose limit was reached; only for `perTool`. */
  declare readonly tool?: string

  constructor(limit: CallLimit, max: number, tool?: string) {
    super(limitText(limit, max, tool))
    this.limit = limit
    this.max = max
    if (tool !== undefined) this.tool = tool
  }
}

/**
 * With `onLimit: 'error'` the run ends with {@link CallLimitError} when a call would exceed a limit. With `'answer'`
 * such a tool call is not run and gets an error result. At a limit of model calls or tokens, `'answer'` makes one last
 * model call without tool calls, and its answer ends the run with `stopReason: 'early-stop'`.
 *
 * It counts the calls that pass through this middleware: if it is inside `retryModel`, each attempt; if it is outside,
 * each model call. A call that eager tools started counts once, even if it is joined or discarded. If a response has
 * too many calls, the first ones in call order run.
 */
export function callLimits(options: CallLimitsOptions): Middleware {
  checkLimits(options)
  const { modelCalls, toolCalls, perTool, tokens, onLimit = 'error' } = options
  const limitsModel = modelCalls !== undefined || tokens !== undefined
  const limitsTools = toolCalls !== undefined || perTool !== undefined
  const ofTool = (name: string) => (typeof perTool === 'object' ? own(perTool, name) : perTool)
  const counts = runLocal({ key: 'call-limits', schema: schemaOf(isCounts), initial: NOTHING })
  const last = runLocal(() => ({ begun: false }))
  const order = runLocal(() => new CallOrder())

  function modelLimit(run: Run): CallLimitError | undefined {
    if (modelCalls !== undefined && counts(run).value.modelCalls >= modelCalls)
      return new CallLimitError('modelCalls', modelCalls)
    if (tokens !== undefined && tokensOf(run.usage) >= tokens) return new CallLimitError('tokens', tokens)
    return undefined
  }

  function toolLimit(call: ToolCall, run: Run): CallLimitError | undefined {
    const made = counts(run).value
    const first = order(run).toCome(call)
    if (toolCalls !== undefined && made.toolCalls + first.length >= toolCalls)
      return new CallLimitError('toolCalls', toolCalls)
    const max = ofTool(call.name)
    const firstOfTool = first.filter(({ name }) => name === call.name)
    if (max !== undefined && (own(made.perTool, call.name) ?? 0) + firstOfTool.length >= max)
      return new CallLimitError('perTool', max, call.name)
    return undefined
  }

  /** Counts a call once, even if it runs again after an interrupt or a cut-off. */
  function isCounted({ id }: ToolCall, run: Run): boolean {
    const { step, counted } = counts(run).value
    return step === run.step && counted.includes(id)
  }

  function count({ id, name }: ToolCall, run: Run): void {
    const { toolCalls, perTool, step, counted, ...rest } = counts(run).value
    counts(run).value = {
      ...rest,
      toolCalls: toolCalls + 1,
      perTool: { ...perTool, [name]: (own(perTool, name) ?? 0) + 1 },
      step: run.step,
      counted: step === run.step ? [...counted, id] : [id],
    }
  }

  /** If this call is cut off, only a resume makes it again, not another attempt or step. */
  async function* closing(
    request: ModelRequest,
    next: (request: ModelRequest) => ModelFlow,
    run: Run,
    over: CallLimitError,
  ): ModelFlow {
    last(run).begun = true
    const instruction = { role: 'user', content: DEFAULT_INSTRUCTION, origin: 'call-limits' } as const
    const messages = [...request.messages, instruction]
    const answer = yield* closingCall({ ...request, messages }, next, () => over)
    counts(run).value = { ...counts(run).value, closed: true }
    return answer
  }

  return {
    name: 'call-limits',
    wrapModel(request, next, run) {
      const made = counts(run)
      const over = modelLimit(run)
      if (over && (onLimit === 'error' || made.value.closed || last(run).begun)) throw over
      made.value = { ...made.value, modelCalls: made.value.modelCalls + 1 }
      if (over) return closing(request, next, run, over)
      return limitsTools ? order(run).watched(next(request), run.step) : next(request)
    },
    ...(limitsTools && {
      async *wrapToolCall(call, next, run) {
        if (isCounted(call, run)) return yield* next(call)
        const over = toolLimit(call, run)
        order(run).met(call)
        if (over && onLimit === 'error') throw over
        if (over) return errorMessage(call, `Not run: ${over.message}.`)
        count(call, run)
        return yield* next(call)
      },
    }),
    ...(limitsModel &&
      onLimit === 'answer' && {
        async *wrapAgent(setup, next, run) {
          const result = yield* next(setup)
          return counts(run).value.closed ? { ...result, stopReason: 'early-stop' } : result
        },
      }),
  }
}

/** What a run has used so far. */
interface Counts {
  readonly modelCalls: number
  readonly toolCalls: number
  readonly perTool: Readonly<Record<string, number>>
  /** Whether the last model call has succeeded. */
  readonly closed: boolean
  /** The step of the ids in `counted`. */
  readonly step: number
  readonly counted: readonly string[]
}

const NOTHING: Counts = { modelCalls: 0, toolCalls: 0, perTool: {}, closed: false, step: 0, counted: [] }

function isCounts(value: unknown): value is Counts {
  if (!isRecord(value) || !isRecord(value.perTool)) return false
  const { modelCalls, toolCalls, perTool, closed, step, counted } = value
  const isListed = Array.isArray(counted) && counted.every((id) => typeof id === 'string')
  return (
    typeof closed === 'boolean' && isListed && [modelCalls, toolCalls, step, ...Object.values(perTool)].every(isCount)
  )
}

/** A tool may have the name of a member of `Object.prototype`. */
function own(numbers: Readonly<Record<string, number>>, name: string): number | undefined {
  return Object.hasOwn(numbers, name) ? numbers[name] : undefined
}

function limitText(limit: CallLimit, max: number, tool: string | undefined): string {
  const what = { modelCalls: 'model calls', toolCalls: 'tool calls', perTool: `calls of ${tool}`, tokens: 'tokens' }
  return `the limit of ${what[limit]} is reached (${max})`
}

function tokensOf({ inputTokens = 0, outputTokens = 0 }: Usage): number {
  return inputTokens + outputTokens
}

function checkLimits(options: CallLimitsOptions): void {
  if (!isRecord(options)) throw new ConfigError('options', 'are missing: set a limit, for example { modelCalls: 20 }')
  checkOptions('callLimits', options, { modelCalls: '', toolCalls: '', perTool: '', tokens: '', onLimit: '' })
  const { perTool, onLimit = 'error', ...limits }: CallLimitsOptions = options
  const given = typeof perTool === 'object' ? perTool : { perTool }
  for (const [option, max] of Object.entries({ ...limits, ...given }))
    if (max !== undefined) checkCounts({ [option]: max })
  if (onLimit !== 'error' && onLimit !== 'answer')
    throw new ConfigError('onLimit', `must be error or answer, not ${String(onLimit)}`)
}
