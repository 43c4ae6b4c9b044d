/** The middleware `callLimits()`: limits the model calls, tool calls and tokens of a run. */

import {
  AgentError,
  ConfigError,
  checkOptions,
  type Middleware,
  type ModelFlow,
  type ModelRequest,
  makersOf,
  map,
  type Run,
  runLocal,
  type ToolCall,
  type Usage,
} from '@meanwhile/core'
import { branded, errorMessage, findTool, isRecord } from '@meanwhile/core/calls'
import { isRepeatable, mayHaveHappened } from './call-limits/effects.ts'
import { pathOf } from './call-limits/made-calls.ts'
import { isSavedCounts, NOTHING, StepCounts } from './call-limits/step-counts.ts'
import type { Counting } from './call-limits/tally.ts'
import { checkCounts } from './check-options.ts'
import { closingCall, DEFAULT_INSTRUCTION } from './closing-call.ts'
import { type MayBeMissing, namedTools } from './named-tools.ts'
import { schemaOf } from './schema-of.ts'

/** Each limit is an integer of at least 0. Default: no limit. */
export interface CallLimitsOptions extends MayBeMissing {
  /** The maximum number of model calls in a run. */
  readonly modelCalls?: number
  /** The maximum number of tool calls in a run. */
  readonly toolCalls?: number
  /** Limits by tool name (an alias means its tool), or one number that applies to each tool. */
  readonly perTool?: number | Readonly<Record<string, number>>
  /** How many tool calls of one response may run. The others get an error result, also with `onLimit: 'error'`. Inner calls do not count. */
  readonly perResponse?: number
  /**
   * The maximum of input and output tokens together, as the provider reports them. Checked before each model call, so
   * the last call may exceed the limit. If the model reports none, there is a warning `tokens-unknown`, and no limit.
   */
  readonly tokens?: number
  /** What happens at any other limit. Default `error`. */
  readonly onLimit?: 'error' | 'answer'
}

/** Which limit of `callLimits` was reached. */
export type CallLimit = 'modelCalls' | 'toolCalls' | 'perTool' | 'perResponse' | 'tokens'

/** A run reached a limit. */
export class CallLimitError extends AgentError {
  static override readonly brand: string = 'CallLimitError'
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

/** A limit that is reached. It becomes an error only where it is thrown, because each call is judged together with all calls before it. */
type Reached = ConstructorParameters<typeof CallLimitError>

/**
 * With `onLimit: 'error'` the run ends with {@link CallLimitError} when a call would exceed a limit. With `'answer'`
 * such a tool call is not run and gets an error result. At a limit of model calls or tokens, `'answer'` makes one last
 * model call without tool calls, and its answer ends the run with `stopReason: 'early-stop'`.
 *
 * It counts the calls that pass through this middleware: if it is inside `retryModel`, each attempt; if it is outside,
 * each model call. If a response has too many calls, the first ones in call order run. Which calls count is the same with
 * and without eager tools: a call that started early counts once if it is joined, and not if it is discarded. It is
 * discarded, too, if an attempt has failed and the accepted response requests the same calls in an order in which it has
 * no room. If its effect may have happened (`idempotent`), its result states that.
 *
 * What inner calls and agents inside calls use counts in full from the next step on, so a step may exceed a limit by
 * what is inside its calls. Within the step, an inner call is judged by the calls of the response up to the one that
 * makes it, and by the inner calls that this one made before.
 */
export function callLimits(options: CallLimitsOptions): Middleware {
  checkLimits(options)
  const { modelCalls, toolCalls, perTool, perResponse, tokens, onLimit = 'error' } = options
  const limitsModel = modelCalls !== undefined || tokens !== undefined
  const limitsTools = toolCalls !== undefined || perTool !== undefined || perResponse !== undefined
  const byName = typeof perTool === 'object' ? perTool : {}
  const limitedNames = Object.keys(byName).filter((name) => byName[name] !== undefined)
  const limited = namedTools('callLimits', 'perTool', limitedNames, options)
  const limitsOfTools = runLocal(() => new Map<string, number | undefined>())
  const saved = runLocal({ key: 'call-limits', schema: schemaOf(isSavedCounts), initial: NOTHING })
  const counts = runLocal(() => new StepCounts())
  const last = runLocal(() => ({ begun: false }))
  const warned = runLocal(() => ({ once: false }))
  const of = (run: Run) => counts(run).of(saved(run), run.step)

  function modelLimit(run: Run): CallLimitError | undefined {
    if (modelCalls !== undefined && of(run).modelCalls >= modelCalls)
      return new CallLimitError('modelCalls', modelCalls)
    if (tokens !== undefined && tokensOf(run.usage) >= tokens) return new CallLimitError('tokens', tokens)
    return undefined
  }

  function warnWithoutTokens(run: Run): void {
    const { inputTokens, outputTokens } = run.usage
    if (
      tokens === undefined ||
      run.step === 1 ||
      warned(run).once ||
      inputTokens !== undefined ||
      outputTokens !== undefined
    )
      return
    warned(run).once = true
    run.warn({
      code: 'tokens-unknown',
      message: `the model reports no tokens, so the limit of ${tokens} tokens does not apply`,
    })
  }

  /** The limit of the tool with this name, which may be given under an alias. */
  function ofTool(name: string, run: Run): number | undefined {
    if (typeof perTool !== 'object') return perTool
    const known = limitsOfTools(run)
    if (!known.has(name)) {
      const own = findTool(run.setup.tools, name)
      const given = [name, ...(own?.aliases?.names ?? [])].find((one) => limitedNames.includes(one))
      known.set(name, given === undefined ? undefined : byName[given])
    }
    return known.get(name)
  }

  function toolLimit(name: string, made: Counting, run: Run): Reached | undefined {
    if (toolCalls !== undefined && made.toolCalls >= toolCalls) return ['toolCalls', toolCalls]
    const max = ofTool(name, run)
    return max !== undefined && made.of(name) >= max ? ['perTool', max, name] : undefined
  }

  /**
   * The limit that a call of the response or an inner call would exceed. It depends only on what is the same in every order of events: the count at
   * the beginning of the step, the calls of the response in call order, and the inner calls that the same call made before. `executions`: how often
   * the call was executed before.
   */
  function limitFor(
    path: readonly string[],
    name: string,
    run: Run,
    place = of(run).response.placeOf(path[0] ?? ''),
    executions = of(run).made.executionsOf(path),
  ): Reached | undefined {
    const { made, response, counting } = of(run)
    const ownNames = new Map<string, string>()
    const ownNameOf = (written: string) => {
      const own = ownNames.get(written) ?? ownName(written, run)
      ownNames.set(written, own)
      return own
    }
    let room = perResponse ?? Number.POSITIVE_INFINITY
    for (const before of response.calls.slice(0, Math.max(0, place))) {
      const own = ownNameOf(before.name)
      if (room === 0 || toolLimit(own, counting, run)) continue
      counting.add(own)
      room--
    }
    if (perResponse !== undefined && room === 0 && path.length === 1) return ['perResponse', perResponse]
    const maker = response.calls[place]
    if (maker && path.length > 1) counting.add(ownNameOf(maker.name))
    made.count(path, counting)
    // Inside `retryTool` each execution of a call counts.
    for (let earlier = executions; earlier > 0; earlier--) counting.add(name)
    return toolLimit(name, counting, run)
  }

  /** Whether the accepted response has no room for a call that ran early, or for a call inside it. */
  function lacksRoom(call: ToolCall, early: ToolCall, run: Run): boolean {
    const { made, response } = of(run)
    const place = response.placeOf(call.id)
    const executions = new Map<string, number>()
    return made.within(early.id).some((one) => {
      const path = pathOf(one)
      const key = JSON.stringify(path)
      const before = executions.get(key) ?? 0
      executions.set(key, before + 1)
      return limitFor(path, one.name, run, place, before) !== undefined
    })
  }

  /** The first limit that the response exceeds and that ends the run, whichever of its calls is judged first. */
  function firstOver(run: Run): Reached | undefined {
    const { response, counting } = of(run)
    for (const { name } of response.calls.slice(0, perResponse)) {
      const over = toolLimit(ownName(name, run), counting, run)
      if (over) return over
      counting.add(ownName(name, run))
    }
    return undefined
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
    of(run).close()
    return answer
  }

  return branded('middleware', {
    name: 'call-limits',
    ...limited.hook,
    wrapModel(request, next, run) {
      const step = of(run)
      const over = modelLimit(run)
      warnWithoutTokens(run)
      if (over && (onLimit === 'error' || step.isClosed || last(run).begun)) throw over
      step.callsModel()
      if (over) return closing(request, next, run, over)
      return limitsTools ? step.response.watched(next(request)) : next(request)
    },
    ...(limitsTools && {
      async *wrapToolCall(call, next, run) {
        // A resume makes open calls before it calls the model.
        limited.check(run)
        const step = of(run)
        const makers = makersOf(run)
        const path = [...makers, call.id]
        if (!step.mayRunAgain(path)) {
          const maker = step.response.startedAs(makers[0] ?? '')
          if (makers.length === 0) step.response.started(call)
          // Another attempt may leave no room for this call, and its maker must not run twice for that.
          else if (maker && !isRepeatable(maker, run)) await run.stood(maker.id)
          // A call that is refused early may have room once the response is accepted, for example if `afterModel` drops another one.
          const isEarlyOver = limitFor(path, call.name, run) !== undefined
          if (isEarlyOver) await run.stood(call.id)
          const over = isEarlyOver ? limitFor(path, call.name, run) : undefined
          if (over && onLimit === 'error' && over[0] !== 'perResponse')
            throw new CallLimitError(...(firstOver(run) ?? over))
          if (over) return errorMessage(call, refusal(over, step.mayHaveHappened(call.id)))
        }
        step.makes(path, call.name, run.stood(call.id))
        return yield* next(call)
      },
      keepsEarly(call, early, run) {
        const isKept = !lacksRoom(call, early, run)
        if (!isKept) of(run).withdraw(call.id, early.id, mayHaveHappened(early, run))
        return isKept
      },
    }),
    ...((limitsModel || limitsTools) && {
      async *wrapAgent(setup, next, run) {
        of(run).resumed((id) => run.stood(id))
        const result = yield* map(next(setup), (event) => {
          of(run).see(event)
          return event
        })
        return limitsModel && onLimit === 'answer' && of(run).isClosed
          ? { ...result, stopReason: 'early-stop' }
          : result
      },
    }),
  })
}

/** What the model reads for a call without room. */
function refusal(reached: Reached, happened: boolean): string {
  const reason = limitText(...reached)
  return happened
    ? `No result: ${reason}. This call had started early, and its effect may have happened.`
    : `Not run: ${reason}.`
}

/** The tool's own name: the model may write an alias. */
function ownName(name: string, run: Run): string {
  return findTool(run.setup.tools, name)?.name ?? name
}

function limitText(limit: CallLimit, max: number, tool: string | undefined): string {
  const what = {
    modelCalls: 'model calls',
    toolCalls: 'tool calls',
    perTool: `calls of ${tool}`,
    perResponse: 'calls in one response',
    tokens: 'tokens',
  }
  return `the limit of ${what[limit]} is reached (${max})`
}

function tokensOf({ inputTokens = 0, outputTokens = 0 }: Usage): number {
  return inputTokens + outputTokens
}

function checkLimits(options: CallLimitsOptions): void {
  if (!isRecord(options)) throw new ConfigError('options', 'are missing: set a limit, for example { modelCalls: 20 }')
  checkOptions('callLimits', options, {
    modelCalls: '',
    toolCalls: '',
    perTool: '',
    perResponse: '',
    tokens: '',
    onLimit: '',
    mayBeMissing: '',
  })
  const { perTool, onLimit = 'error', mayBeMissing: _, ...limits }: CallLimitsOptions = options
  const given = typeof perTool === 'object' ? perTool : { perTool }
  for (const [option, max] of Object.entries({ ...limits, ...given }))
    if (max !== undefined) checkCounts({ [option]: max })
  if (onLimit !== 'error' && onLimit !== 'answer')
    throw new ConfigError('onLimit', `must be error or answer, not ${String(onLimit)}`)
}
