/** One call from its input to its message: `prepareInput`, all `wrapToolCall`s, the execution at their core. */

import { context } from '@opentelemetry/api'
import { addressOf } from './address.ts'
import type { CallEntry } from './call-entry.ts'
import type { CallEvents } from './call-events.ts'
import { endSpans } from './call-spans.ts'
import type { Result } from './call-state.ts'
import { checkedInput } from './checked-input.ts'
import type { SavedOutcome } from './checkpoint.ts'
import { compose, type WrapKind } from './compose.ts'
import { AgentError, messageOf } from './errors.ts'
import { executeTool } from './execute-tool.ts'
import { drive, type Flow } from './flow.ts'
import { freeze, isMessage } from './history.ts'
import { Interrupt } from './interrupt.ts'
import type { ToolCall, ToolMessage } from './message.ts'
import type { ToolFlow } from './middleware.ts'
import type { RunState } from './run.ts'
import { viewOf } from './run-view.ts'
import type { Tool } from './tool.ts'
import { UnknownToolError } from './tool-errors.ts'
import type { Host } from './tool-host.ts'
import { cancelledMessage, cutOffMessage, errorMessage, NO_ANSWER, resultMessage, textMessage } from './tool-message.ts'
import { endState } from './tool-status.ts'

/** Whatever is thrown on the way is the call's error result, but for an `AgentError`, which ends the run (A11, A12, C18). */
export async function makeCall(run: RunState, entry: CallEntry): Promise<Result> {
  const onion = compose(run, wrapToolCall(entry), (call, parent) =>
    entry.tool?.background
      ? inBackground(run, entry, entry.tool, call)
      : executeTool(hostOf(run, entry), entry, call, parent),
  )
  try {
    const isPrepared = run.config.prepareInput !== undefined
    const call = isPrepared ? await context.with(entry.parent, () => prepared(run, entry.call)) : entry.call
    const message = await drive(onion(call, entry.parent), (event) => tell(run.calls.events, entry, event))
    return { message: freeze(message) }
  } catch (error) {
    if (error instanceof AgentError) throw error
    return entry.signal.aborted ? cutOff(entry) : { message: errorMessage(entry.call, error) }
  }
}

/** What comes of a call that was aborted: alone, that it was is its result. */
export function cutOff({ call, record, cancelled }: CallEntry): Result {
  if (cancelled) return { message: cancelledMessage(call, record.entered) }
  return { message: cutOffMessage(call, record.entered), isCutOff: true }
}

/** The work of a background call: its input was checked, its wraps are out, and whatever comes of it is a message. */
export async function makeWork(run: RunState, entry: CallEntry): Promise<ToolMessage> {
  const message = freeze(await workOf(run, entry))
  entry.settle({ message })
  entry.status.end(endState(entry, !message.isError))
  endSpans(entry, run.metrics)
  return message
}

async function workOf(run: RunState, entry: CallEntry): Promise<ToolMessage> {
  const flow = executeTool(hostOf(run, entry), entry, entry.call, entry.parent)
  const given = drive(flow, (event) => tell(run.calls.events, entry, event))
  try {
    return await Promise.race([given, entry.abandoned.then(() => Promise.reject(entry.signal.reason as Error))])
  } catch (error) {
    if (error instanceof Interrupt) return textMessage(entry.call, NO_ANSWER, true)
    return entry.signal.aborted ? cutOff(entry).message : errorMessage(entry.call, error)
  }
}

/** The call is answered at once: the work goes on (I15). */
async function* inBackground(run: RunState, entry: CallEntry, tool: Tool, call: ToolCall): ToolFlow {
  await checkedInput(tool, call)
  entry.signal.throwIfAborted()
  if (entry.provisional) await entry.fate.stood(entry.signal)
  run.cancel.halted.throwIfAborted()
  run.background.start(entry, call)
  const handle = { callId: entry.id, state: 'running' }
  return { ...textMessage(call, JSON.stringify(handle), false), output: handle }
}

function hostOf(run: RunState, entry: CallEntry): Host<ToolMessage> {
  const { tool, call } = entry
  return {
    tracer: run.tracer,
    capture: run.capture,
    agent: run.config.name,
    grace: run.config.grace,
    timeout: tool?.timeout,
    // What a call makes on the side is its own work: it has started.
    halted: entry.maker ? undefined : run.cancel.halted,
    attributes: () => run.annotationsOf(call.id),
    answers: () => run.questions.answersAt(addressOf(run, entry)),
    // Only if the call is committed: the run that is not eager makes no other (H16).
    warn(message) {
      void entry.fate.committed.then(() => run.warn({ code: 'effect-failed', message, source: 'core' }))
    },
    save: run.saver.isOn ? () => run.saver.now() : undefined,
    known() {
      const known = entry.record.again()
      return known && (() => again(known))
    },
    came(outcome) {
      if ('result' in outcome) entry.record.add({ message: outcome.result })
      else if (!(outcome.error instanceof AgentError)) entry.record.add({ error: messageOf(outcome.error) })
    },
    threw(error) {
      if (error instanceof Interrupt && !entry.asks(error)) entry.asking = { interrupt: error }
    },
    viewOf: (actor) => viewOf(run, actor),
    resultOf: resultMessage,
    givenOnNeeds: (call) => run.calls.givenOnNeeds(entry, call),
    unknown: (call) => unknown(run, call),
  }
}

function again(known: SavedOutcome): ToolMessage {
  if ('error' in known) throw new Error(known.error)
  return known.message
}

async function unknown(run: RunState, call: ToolCall): Promise<ToolMessage> {
  const answer = call.name === '' ? undefined : await run.config.unknownTool?.(call)
  if (answer !== undefined) return textMessage(call, answer, false)
  throw new UnknownToolError(
    call.name,
    run.setup.tools.map((tool) => tool.name),
  )
}

async function prepared(run: RunState, call: ToolCall): Promise<ToolCall> {
  const { prepareInput } = run.config
  return prepareInput ? { ...call, input: await prepareInput(call.input, call) } : call
}

/** Once the call is aborted its flow is closed at its next event: it would go on all the same (I14). */
function tell(events: CallEvents, entry: CallEntry, event: ToolEvent): void {
  entry.signal.throwIfAborted()
  if (event.type === 'custom') events.custom(entry, { source: entry.call.name, ...event })
  else events.progress(entry, event)
}

function wrapToolCall(entry: CallEntry): WrapKind<ToolCall, ToolEvent, ToolMessage> {
  return {
    hook: 'wrapToolCall',
    of: (middleware) => middleware.wrapToolCall?.bind(middleware),
    isResult: (value) => isMessage(value) && value.role === 'tool',
    ownsThrows: false,
    call: entry,
  }
}

type ToolEvent = ToolFlow extends Flow<infer Event, ToolMessage> ? Event : never
