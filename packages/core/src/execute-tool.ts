/** One execution of a tool: slot, span, input check, the function itself, its message. The innermost of `wrapToolCall`. */

import type { Attributes, Context, Tracer } from '@opentelemetry/api'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isWithin, judgeCall } from './call-effect.ts'
import type { CallEntry, Execution } from './call-entry.ts'
import { answerOf } from './client-tool.ts'
import { AgentError, RunStop } from './errors.ts'
import { cancelable, type Flow } from './flow.ts'
import { timer } from './grace.ts'
import type { Json, ToolCall } from './message.ts'
import type { Awaitable, Run } from './middleware.ts'
import { type Given, givenOf } from './needs.ts'
import type { Actor } from './run-view.ts'
import type { Slot } from './slots.ts'
import { set } from './telemetry/attributes.ts'
import { type CaptureContent, record } from './telemetry/content.ts'
import { DISPATCH_LAG, DISPATCH_QUEUED, TOOL_ARGUMENTS, TOOL_EFFECT, TOOL_RESULT } from './telemetry/semconv.ts'
import { startToolSpan } from './telemetry/spans.ts'
import { traced } from './telemetry/traced.ts'
import { TimeLimit } from './time-limit.ts'
import type { Progress, Tool } from './tool.ts'
import { ToolInputError } from './tool-errors.ts'
import { unwrapJson } from './unwrap-json.ts'

/** Where a tool is executed: in a run, or alone. */
export interface Host<Result> {
  readonly tracer: Tracer | undefined
  /** What the spans hold of inputs, results and errors. */
  readonly capture: CaptureContent
  /** The agent's name. */
  readonly agent: string | undefined
  /** How long a function that was aborted is waited for, in milliseconds. */
  readonly grace: number
  /** In milliseconds, for this tool. */
  readonly timeout: number | undefined
  /** Aborts when nothing new may start. */
  readonly halted: AbortSignal | undefined
  /** Put on the span when it opens. */
  attributes(): Attributes
  /** What the call has been answered (L7). */
  answers(): readonly Json[]
  /** What went wrong beside the call. */
  warn(message: string): void
  /** Resolves when it is known, whatever comes, that the call may have happened (L15). Absent where nothing is kept. */
  readonly save: (() => Promise<void>) | undefined
  /** What an execution of a run before this one came to, given or thrown: it is not made again (L8). */
  known(): (() => Result) | undefined
  /** What this one came to, unless it was aborted. */
  came(outcome: { readonly result: Result } | { readonly error: unknown }): void
  /** What the function threw. */
  threw(error: unknown): void
  /** The run as the function sees it; alone there is none. */
  viewOf(actor: Actor): Run | undefined
  /** What comes of an output. */
  resultOf(call: ToolCall, tool: Tool, output: unknown): Result
  /** What the function is given of a call that has started with the members its tool needs. */
  givenOnNeeds(call: ToolCall): Promise<Given>
  /** What comes of a call to a tool there is not. */
  unknown(call: ToolCall): Awaitable<Result>
}

/**
 * Closed before its end, by a wrap that leaves, it is aborted: it alone, not its call. One that goes on all the same gives
 * its slot back when the grace time is over, so that a further execution need not wait for it (I9).
 */
export function executeTool<Result>(
  host: Host<Result>,
  entry: CallEntry,
  call: ToolCall,
  parent: Context,
): Flow<Progress, Result> {
  const own = new AbortController()
  const signal = AbortSignal.any([entry.signal, own.signal])
  const place = { parent, signal, own, unstarted: host.halted ? AbortSignal.any([signal, host.halted]) : signal }
  const flow = inSlot(host, entry, call, place)
  return cancelable(flow, () => own.abort(new Error('the wrap that asked has left')))
}

interface Place {
  readonly parent: Context
  readonly signal: AbortSignal
  /** Aborts this execution alone. */
  readonly own: AbortController
  /** The signal as long as the function is not entered: aborts, too, when nothing new may start. */
  readonly unstarted: AbortSignal
}

async function* inSlot<Result>(
  host: Host<Result>,
  entry: CallEntry,
  call: ToolCall,
  place: Place,
): Flow<Progress, Result> {
  const known = host.known()
  if (known) return known()
  const { slots, askedAt, provisional: early } = entry
  const asked = performance.now()
  const slot = await slots.take(entry, place.unstarted)
  let late: ReturnType<typeof timer>
  const left = () => {
    late = timer(host.grace, () => slots.free(slot))
  }
  place.own.signal.addEventListener('abort', left, { once: true })
  try {
    place.unstarted.throwIfAborted()
    const result = yield* inSpan(host, entry, call, {
      ...place,
      slot,
      askedAt,
      early,
      queued: performance.now() - asked,
    })
    host.came({ result })
    return result
  } catch (error) {
    if (!place.signal.aborted) host.came({ error })
    if (error instanceof AgentError && !(error instanceof RunStop)) slots.keep(slot)
    throw error
  } finally {
    clearTimeout(late)
    slots.free(slot)
  }
}

interface SlotPlace extends Place {
  readonly slot: Slot
  /** As it was before it waited for that. */
  readonly askedAt: number
  readonly early: boolean
  /** Milliseconds it waited for that. */
  readonly queued: number
}

/** The span ends later, when the call is committed or discarded, but with the time at which the function settled. */
function inSpan<Result>(
  host: Host<Result>,
  entry: CallEntry,
  call: ToolCall,
  place: SlotPlace,
): Flow<Progress, Result> {
  const { parent, signal, queued, early } = place
  let execution: Execution
  return traced({
    open: () => {
      const attempt = ++entry.attempts
      const open = startToolSpan(host.tracer, parent, () => ({
        tool: entry.tool?.name,
        callId: entry.id,
        agent: host.agent,
        step: entry.step,
        attempt,
        early,
        asked: entry.askers.flatMap(({ span }) => span?.spanContext() ?? []),
        attributes: { [DISPATCH_QUEUED]: queued / 1000, ...host.attributes(), ...entry.attributes },
      }))
      const { capture } = host
      record(open.span, capture, () => ({ [TOOL_ARGUMENTS]: () => call.input }))
      execution = { open, early, capture, attempt, signal, started: open.started, children: [] }
      entry.executions.push(execution)
      return open
    },
    make: () => work(host, entry, call, execution, place),
    done: ({ span }, result) => {
      record(span, host.capture, () => ({ [TOOL_RESULT]: () => entry.done?.output }))
      return result
    },
    failed: (error) => error,
    ended: ({ span }, error) => {
      if (entry.rest) record(span, host.capture, () => ({ [TOOL_ARGUMENTS]: () => entry.call.input }))
      execution.ended = performance.now()
      execution.aborted = signal.aborted
      if (error !== undefined) execution.error = error
    },
  })
}

async function* work<Result>(
  host: Host<Result>,
  entry: CallEntry,
  call: ToolCall,
  execution: Execution,
  { slot, askedAt, queued, own, unstarted }: SlotPlace,
): Flow<Progress, Result> {
  const { tool } = entry
  const { attempt, signal } = execution
  const { span, context } = execution.open
  if (!tool) return await host.unknown(call)
  const whole = entry.rest ? undefined : await checkedInput(tool, call)
  const given = entry.rest ? await host.givenOnNeeds(call) : givenOf(tool, whole)
  signal.throwIfAborted()
  // What has started with the members its tool needs is declared a `read`, and names no keys.
  const does = judgeCall(tool, whole)
  if (does.problem !== undefined) host.warn(`what ${tool.name} does: ${does.problem}`)
  set(span, () => ({ [TOOL_EFFECT]: does.effect }))
  const checked = performance.now()
  const ready = () => !entry.provisional || isWithin(does, entry.ceiling, entry.keyCeiling)
  try {
    await entry.slots.begin(slot, { keys: does.keys, ready }, unstarted)
  } catch (error) {
    // Made after a resume, it is the same attempt.
    if (error instanceof RunStop) entry.attempts--
    throw error
  }
  execution.started = performance.now()
  set(span, () => ({ [DISPATCH_QUEUED]: (queued + execution.started - checked) / 1000 }))
  const before = entry.effect
  entry.effect = does.effect
  try {
    if (host.save && does.effect !== 'read') await saved(host.save, unstarted)
  } catch (error) {
    entry.effect = before
    throw error
  }
  if (attempt === 1) {
    execution.lag = (performance.now() - askedAt) / 1000
    set(span, () => ({ [DISPATCH_LAG]: execution.lag }))
  }
  entry.status.begin()
  const { input } = given
  const run = host.viewOf({ context, source: tool.name, call: entry, execution })
  const toolContext = {
    callId: entry.call.id,
    get idempotencyKey() {
      return entry.key
    },
    attempt,
    answers: host.answers(),
    signal,
    ...(run && { run }),
    ...(entry.warmUp && { warmed: entry.warmUp.use() }),
    ...(given.rest && { rest: entry.status.waitFor(given.rest) }),
  }
  const limit = timeLimit(host, tool, execution, own)
  try {
    const output = tool.execute
      ? yield* limit.outcome(tool.execute(input, toolContext))
      : await answerOf(tool, call, toolContext.answers)
    entry.done = { input, output }
    return host.resultOf(call, tool, output)
  } catch (error) {
    host.threw(error)
    throw error
  } finally {
    limit.over()
  }
}

async function saved(save: () => Promise<void>, unstarted: AbortSignal): Promise<void> {
  await save()
  unstarted.throwIfAborted()
}

/** What the function has called is cut off with it. */
function timeLimit<Result>(host: Host<Result>, tool: Tool, execution: Execution, own: AbortController): TimeLimit {
  const { timeout: ms, grace } = host
  return new TimeLimit({
    tool: tool.name,
    ms,
    grace,
    signal: execution.signal,
    abort(reason) {
      own.abort(reason)
      for (const child of execution.children) child.abort(reason, grace)
    },
    abandoned() {
      execution.abandoned = true
    },
  })
}

/**
 * The input as the tool's schema gives it back. Objects and lists that a model wrote as JSON text, the whole input among
 * them, are taken out of their strings where the schema wants none there and then accepts all of it (qC34).
 *
 * @throws {ToolInputError} The schema does not accept it (A13).
 */
export async function checkedInput(tool: Pick<Tool, 'name' | 'input'>, call: ToolCall): Promise<unknown> {
  if (call.inputError !== undefined) throw new ToolInputError(tool.name, [{ path: '', message: call.inputError }])
  const checking = validate(tool, call.input)
  const result = checking instanceof Promise ? await checking : checking
  if (!result.issues) return result.value
  let { issues } = result
  for (let input = call.input; ; ) {
    const unwrapped = unwrapJson(input, issues.map(pathOf))
    if (unwrapped === input) throw new ToolInputError(tool.name, result.issues.map(described))
    const checked = await validate(tool, unwrapped)
    if (!checked.issues) return checked.value
    input = unwrapped
    issues = checked.issues
  }
}

function validate(tool: Pick<Tool, 'input'>, input: unknown): Awaitable<StandardSchemaV1.Result<unknown>> {
  return tool.input['~standard'].validate(input)
}

function described(issue: StandardSchemaV1.Issue): { readonly path: string; readonly message: string } {
  return { path: pathOf(issue).join('.'), message: issue.message }
}

function pathOf({ path = [] }: StandardSchemaV1.Issue): string[] {
  return path.map((part) => String(typeof part === 'object' ? part.key : part))
}
