/** One execution of a tool: slot, span, input check, the function itself, its message. The innermost of `wrapToolCall`. */

import type { Context } from '@opentelemetry/api'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isWithin, judgeCall } from './call-effect.ts'
import type { CallEntry, Execution } from './call-entry.ts'
import { AgentError, ToolInputError, UnknownToolError } from './errors.ts'
import { cancelable } from './flow.ts'
import type { ToolCall, ToolMessage } from './message.ts'
import type { Awaitable, ToolFlow } from './middleware.ts'
import type { RunState } from './run.ts'
import { viewOf } from './run-view.ts'
import type { Slot } from './slots.ts'
import { DISPATCH_LAG, DISPATCH_QUEUED, TOOL_EFFECT } from './telemetry/semconv.ts'
import { startToolSpan } from './telemetry/spans.ts'
import { traced } from './telemetry/traced.ts'
import type { Progress, Tool } from './tool.ts'
import { resultMessage, textMessage } from './tool-message.ts'
import { unwrapJson } from './unwrap-json.ts'

/** Closed before its end, by a wrap that leaves, it is aborted: it alone, not its call. */
export function executeTool(run: RunState, entry: CallEntry, call: ToolCall, parent: Context): ToolFlow {
  const left = new AbortController()
  const signal = AbortSignal.any([entry.signal, left.signal])
  const flow = inSlot(run, entry, call, parent, signal)
  return cancelable(flow, () => left.abort(new Error('the wrap that asked has left')))
}

async function* inSlot(
  run: RunState,
  entry: CallEntry,
  call: ToolCall,
  parent: Context,
  signal: AbortSignal,
): ToolFlow {
  const { slots } = run.calls
  const asked = performance.now()
  const slot = entry.maker ? undefined : await slots.take(entry, signal)
  try {
    signal.throwIfAborted()
    return yield* inSpan(run, entry, call, { parent, signal, slot, queued: performance.now() - asked })
  } catch (error) {
    if (slot && error instanceof AgentError) slots.keep(slot)
    throw error
  } finally {
    if (slot) slots.free(slot)
  }
}

interface Place {
  readonly parent: Context
  readonly signal: AbortSignal
  /** None for what a call makes itself: it works inside that call's. */
  readonly slot: Slot | undefined
  /** Milliseconds it waited for its slot. */
  readonly queued: number
}

/** The span ends later, when the call is committed or discarded, but with the time at which the function settled. */
function inSpan(run: RunState, entry: CallEntry, call: ToolCall, place: Place): ToolFlow {
  const { parent, signal, queued } = place
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
    make: () => work(run, entry, call, execution, place),
    done: (_, message) => message,
    failed: (error) => error,
    ended: (_, error) => {
      execution.ended = performance.now()
      if (error !== undefined) execution.error = error
    },
  })
}

async function* work(
  run: RunState,
  entry: CallEntry,
  call: ToolCall,
  execution: Execution,
  { slot, queued }: Place,
): ToolFlow {
  const { tool } = entry
  const { attempt, signal } = execution
  const { span, context } = execution.open
  if (!tool) return await unknown(run, call)
  const input = await checkedInput(tool, call)
  signal.throwIfAborted()
  const does = judgeCall(tool, input)
  if (does.problem !== undefined) warnOf(run, entry, `what ${tool.name} does: ${does.problem}`)
  entry.effect = does.effect
  span.setAttribute(TOOL_EFFECT, does.effect)
  const checked = performance.now()
  const ready = () => !entry.provisional || isWithin(does, entry.ceiling, entry.within)
  if (slot) await run.calls.slots.begin(slot, { keys: does.keys, ready }, signal)
  else if (!ready()) await committed(entry, signal)
  execution.started = performance.now()
  span.setAttribute(DISPATCH_QUEUED, (queued + execution.started - checked) / 1000)
  entry.entered = true
  span.setAttribute(DISPATCH_LAG, (performance.now() - entry.asked) / 1000)
  const outcome = tool.execute(input, {
    callId: entry.call.id,
    idempotencyKey: entry.key,
    attempt,
    signal,
    run: viewOf(run, { context, source: tool.name, call: entry }),
  })
  const output = isGenerator(outcome) ? yield* outcome : await outcome
  entry.done = { input, output }
  return resultMessage(call, tool, output)
}

/** Only if the call is committed: the run that is not eager makes no other (H16). */
function warnOf(run: RunState, entry: CallEntry, message: string): void {
  void entry.committed.then(() => run.warn({ code: 'effect-failed', message, source: 'core' }))
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
