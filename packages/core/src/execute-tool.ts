/** One execution of a tool: slot, span, input check, the function itself, its message. The innermost of `wrapToolCall`. */

import type { Attributes, Context, Tracer } from '@opentelemetry/api'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { CallEntry, Execution } from './call-entry.ts'
import { AgentError, RunStop, ToolInputError } from './errors.ts'
import { cancelable, type Flow } from './flow.ts'
import type { Json, ToolCall } from './message.ts'
import type { Awaitable, Run } from './middleware.ts'
import { type Given, givenOf } from './needs.ts'
import type { Actor } from './run-view.ts'
import { DISPATCH_LAG, DISPATCH_QUEUED, TOOL_EFFECT } from './telemetry/semconv.ts'
import { startToolSpan } from './telemetry/spans.ts'
import { traced } from './telemetry/traced.ts'
import { TimeLimit } from './time-limit.ts'
import { type Effect, effectOf, exceeds, type Progress, type Tool } from './tool.ts'
import { unwrapJson } from './unwrap-json.ts'

/** Where a tool is executed: in a run, or alone. */
export interface Host<Result> {
  readonly tracer: Tracer
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
  /** Resolves when it is known, whatever comes, that the call may have happened (L15). Absent where nothing is kept. */
  readonly save: (() => Promise<void>) | undefined
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

/** Closed before its end, by a wrap that leaves, it is aborted: it alone, not its call. */
export function executeTool<Result>(
  host: Host<Result>,
  entry: CallEntry,
  call: ToolCall,
  parent: Context,
): Flow<Progress, Result> {
  const own = new AbortController()
  const place = { parent, signal: AbortSignal.any([entry.signal, own.signal]), own }
  const flow = inSlot(host, entry, call, place)
  return cancelable(flow, () => own.abort(new Error('the wrap that asked has left')))
}

interface Place {
  readonly parent: Context
  readonly signal: AbortSignal
  /** Aborts this execution alone. */
  readonly own: AbortController
}

async function* inSlot<Result>(
  host: Host<Result>,
  entry: CallEntry,
  call: ToolCall,
  place: Place,
): Flow<Progress, Result> {
  const queued = performance.now()
  const { halted } = host
  await entry.slots.take(entry.ticket, halted ? AbortSignal.any([place.signal, halted]) : place.signal)
  try {
    place.signal.throwIfAborted()
    halted?.throwIfAborted()
    return yield* inSpan(host, entry, call, place, performance.now() - queued)
  } catch (error) {
    if (error instanceof AgentError && !(error instanceof RunStop)) entry.slots.hold(entry.ticket)
    throw error
  } finally {
    entry.slots.free(entry.ticket)
  }
}

/** The span ends later, when the call is committed or discarded, but with the time at which the function settled. */
function inSpan<Result>(
  host: Host<Result>,
  entry: CallEntry,
  call: ToolCall,
  place: Place,
  queued: number,
): Flow<Progress, Result> {
  const { parent, signal } = place
  let execution: Execution
  return traced({
    open: () => {
      const attempt = ++entry.attempts
      const open = startToolSpan(host.tracer, parent, {
        tool: entry.tool?.name,
        callId: entry.id,
        agent: host.agent,
        step: entry.step,
        attempt,
        early: entry.startedEarly,
        asked: entry.askers.flatMap(({ span }) => span?.spanContext() ?? []),
        attributes: { [DISPATCH_QUEUED]: queued / 1000, ...host.attributes(), ...entry.attributes },
      })
      execution = { open, attempt, signal, started: performance.now(), children: [] }
      entry.executions.push(execution)
      return open
    },
    make: () => work(host, entry, call, execution, place.own),
    done: (_, message) => message,
    failed: (error) => error,
    ended: (_, error) => {
      execution.ended = performance.now()
      if (error !== undefined) execution.error = error
    },
  })
}

async function* work<Result>(
  host: Host<Result>,
  entry: CallEntry,
  call: ToolCall,
  execution: Execution,
  own: AbortController,
): Flow<Progress, Result> {
  const { tool } = entry
  const { attempt, signal } = execution
  const { span, context } = execution.open
  if (!tool) return await host.unknown(call)
  const given = entry.rest ? await host.givenOnNeeds(call) : givenOf(tool, await checkedInput(tool, call))
  signal.throwIfAborted()
  const { input } = given
  const effect = safeEffect(tool, input)
  span.setAttribute(TOOL_EFFECT, effect)
  if (entry.provisional && entry.ceiling && exceeds(effect, entry.ceiling)) await committed(entry, signal)
  entry.effect = effect
  if (host.save && effect !== 'read') await saved(host, host.save, signal)
  span.setAttribute(DISPATCH_LAG, (performance.now() - entry.askedAt) / 1000)
  entry.status.begin()
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
    const output = yield* limit.outcome(tool.execute(input, toolContext))
    entry.done = { input, output }
    return host.resultOf(call, tool, output)
  } catch (error) {
    host.threw(error)
    throw error
  } finally {
    limit.over()
  }
}

async function saved<Result>({ halted }: Host<Result>, save: () => Promise<void>, signal: AbortSignal): Promise<void> {
  await save()
  signal.throwIfAborted()
  halted?.throwIfAborted()
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

/** A throw of the tool's own function counts as `external` (H4). */
function safeEffect(tool: Tool, input: unknown): Effect {
  try {
    return effectOf(tool, input)
  } catch {
    return 'external'
  }
}

async function committed(entry: CallEntry, signal: AbortSignal): Promise<void> {
  let abort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    await Promise.race([entry.committed, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/**
 * The input as the tool's schema gives it back. Objects and lists that a model wrote as JSON text, the whole input among them, are
 * taken out of their strings where the schema wants none there and then accepts all of it (qC34).
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
