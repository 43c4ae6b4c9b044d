/** One execution of a tool: slot, span, input check, the function itself, its message. The innermost of `wrapToolCall`. */

import type { Context } from '@opentelemetry/api'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { addressOf } from './address.ts'
import type { CallEntry, Execution } from './call-entry.ts'
import { AgentError, RunStop, ToolInputError, UnknownToolError } from './errors.ts'
import { cancelable } from './flow.ts'
import { Interrupt } from './interrupt.ts'
import type { ToolCall, ToolMessage } from './message.ts'
import type { Awaitable, ToolFlow } from './middleware.ts'
import type { RunState } from './run.ts'
import { viewOf } from './run-view.ts'
import { DISPATCH_LAG, DISPATCH_QUEUED, TOOL_EFFECT } from './telemetry/semconv.ts'
import { startToolSpan } from './telemetry/spans.ts'
import { traced } from './telemetry/traced.ts'
import { type Effect, effectOf, exceeds, type Progress, type Tool } from './tool.ts'
import { resultMessage, textMessage } from './tool-message.ts'
import { unwrapJson } from './unwrap-json.ts'

/** Closed before its end, by a wrap that leaves, it is aborted: it alone, not its call. */
export function executeTool(run: RunState, entry: CallEntry, call: ToolCall, parent: Context): ToolFlow {
  const left = new AbortController()
  const signal = AbortSignal.any([entry.signal, left.signal])
  const flow = inSlot(run, entry, call, { parent, signal })
  return cancelable(flow, () => left.abort(new Error('the wrap that asked has left')))
}

async function* inSlot(run: RunState, entry: CallEntry, call: ToolCall, place: Place): ToolFlow {
  const queued = performance.now()
  if (entry.ticket) await run.calls.slots.take(entry.ticket, place.signal, run.cancel.halted)
  try {
    place.signal.throwIfAborted()
    mayStart(run, entry)
    return yield* inSpan(run, entry, call, place, performance.now() - queued)
  } catch (error) {
    const endsRun = error instanceof AgentError && !(error instanceof RunStop)
    if (entry.ticket && endsRun) run.calls.slots.hold(entry.ticket)
    throw error
  } finally {
    if (entry.ticket) run.calls.slots.free(entry.ticket)
  }
}

interface Place {
  readonly parent: Context
  readonly signal: AbortSignal
}

/** The span ends later, when the call is committed or discarded, but with the time at which the function settled. */
function inSpan(run: RunState, entry: CallEntry, call: ToolCall, place: Place, queued: number): ToolFlow {
  const { parent, signal } = place
  let execution: Execution
  return traced({
    open: () => {
      const attempt = ++entry.attempts
      const open = startToolSpan(run.tracer, parent, {
        tool: entry.tool?.name,
        callId: entry.id,
        agent: run.config.name,
        step: entry.step,
        attempt,
        early: entry.startedEarly,
        asked: entry.askers.flatMap(({ span }) => span?.spanContext() ?? []),
        attributes: { [DISPATCH_QUEUED]: queued / 1000, ...run.annotationsOf(entry.call.id), ...entry.attributes },
      })
      execution = { open, attempt, signal, started: performance.now() }
      entry.executions.push(execution)
      return open
    },
    make: () => work(run, entry, call, execution),
    done: (_, message) => message,
    failed: (error) => error,
    ended: (_, error) => {
      execution.ended = performance.now()
      if (error !== undefined) execution.error = error
    },
  })
}

async function* work(run: RunState, entry: CallEntry, call: ToolCall, execution: Execution): ToolFlow {
  const { tool } = entry
  const { attempt, signal } = execution
  const { span, context } = execution.open
  if (!tool) return await unknown(run, call)
  const input = await checkedInput(tool, call)
  signal.throwIfAborted()
  const effect = safeEffect(tool, input)
  span.setAttribute(TOOL_EFFECT, effect)
  if (entry.provisional && entry.ceiling && exceeds(effect, entry.ceiling)) await committed(run, entry, signal)
  const before = entry.effect
  entry.effect = effect
  try {
    if (run.saver.isOn && effect !== 'read') await saved(run, entry, signal)
  } catch (error) {
    entry.effect = before
    throw error
  }
  span.setAttribute(DISPATCH_LAG, (performance.now() - entry.askedAt) / 1000)
  try {
    const outcome = tool.execute(input, {
      callId: entry.call.id,
      idempotencyKey: entry.key,
      attempt,
      answers: run.questions.answersAt(addressOf(run, entry)),
      signal,
      run: viewOf(run, { context, source: tool.name, call: entry }),
    })
    const output = isGenerator(outcome) ? yield* outcome : await outcome
    entry.done = { input, output }
    return resultMessage(call, tool, output)
  } catch (error) {
    if (error instanceof Interrupt && !run.calls.isAsked(error, entry)) entry.asking = { interrupt: error }
    throw error
  }
}

/** Throws if nothing starts any more. What a call at work makes is a part of it, and starts: else it could not settle (K5, L3). */
function mayStart(run: RunState, { maker }: CallEntry): void {
  if (!maker) run.cancel.halted.throwIfAborted()
}

/** What may have happened must be known to a resume before it happens (L15). */
async function saved(run: RunState, entry: CallEntry, signal: AbortSignal): Promise<void> {
  await run.saver.now()
  signal.throwIfAborted()
  mayStart(run, entry)
}

/** A throw of the tool's own function counts as `external` (H4). */
function safeEffect(tool: Tool, input: unknown): Effect {
  try {
    return effectOf(tool, input)
  } catch {
    return 'external'
  }
}

async function committed(run: RunState, entry: CallEntry, signal: AbortSignal): Promise<void> {
  const stop = AbortSignal.any([signal, run.cancel.halted])
  let abort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(stop.reason)
    stop.addEventListener('abort', abort, { once: true })
  })
  try {
    stop.throwIfAborted()
    await Promise.race([entry.committed, aborted])
  } finally {
    stop.removeEventListener('abort', abort)
  }
}

async function unknown(run: RunState, call: ToolCall): Promise<ToolMessage> {
  const answer = call.name === '' ? undefined : await run.config.unknownTool?.(call)
  if (answer !== undefined) return textMessage(call, answer, false)
  throw new UnknownToolError(
    call.name,
    run.setup.tools.map((tool) => tool.name),
  )
}

/**
 * The input as the tool's schema gives it back. Objects and lists that a model wrote as JSON text, the whole input among them, are
 * taken out of their strings where the schema wants none there and then accepts all of it (qC34).
 *
 * @throws {ToolInputError} The schema does not accept it (A13).
 */
export async function checkedInput(tool: Tool, call: ToolCall): Promise<unknown> {
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

function validate(tool: Tool, input: unknown): Awaitable<StandardSchemaV1.Result<unknown>> {
  return tool.input['~standard'].validate(input)
}

function described(issue: StandardSchemaV1.Issue): { readonly path: string; readonly message: string } {
  return { path: pathOf(issue).join('.'), message: issue.message }
}

function pathOf({ path = [] }: StandardSchemaV1.Issue): string[] {
  return path.map((part) => String(typeof part === 'object' ? part.key : part))
}

function isGenerator(value: unknown): value is AsyncGenerator<Progress, unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value
}
