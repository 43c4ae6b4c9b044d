/** Makes one attempt of a model call: one request with its `chat` span. */

import type { Context } from '@opentelemetry/api'
import type { Flow } from '../flow/flow.ts'
import { follow, throwIfAborted, wrapLeft } from '../flow/follow.ts'
import { modelEventProblem } from '../middleware/hook-problems.ts'
import { withOutputTool } from '../output/output.ts'
import type { RunState } from '../state/run.ts'
import { attemptSpan, noteFirstChunk } from '../telemetry/around.ts'
import { discardCauseOf, type NamedCall } from '../tool-call/streamed-calls.ts'
import { boundedAnswer, boundedCall, shownName } from '../vocabulary/call-limits.ts'
import { conflictOf } from '../vocabulary/copies.ts'
import { AgentError, messageOf } from '../vocabulary/errors.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import { freeze, isAssistantMessage } from '../vocabulary/history.ts'
import { DEEPEST, extentOf, LONGEST } from '../vocabulary/json-text.ts'
import { type AssistantMessage, type AssistantPart, callsOf } from '../vocabulary/message.ts'
import { withFittingReason } from '../vocabulary/message-shape.ts'
import type { ModelFlow } from '../vocabulary/middleware.ts'
import type { InputLimits, ModelEvent, ModelRequest } from '../vocabulary/model.ts'
import { ModelError } from '../vocabulary/model-errors.ts'
import { checkChoice } from '../vocabulary/tool-checks.ts'
import { untilAborted } from './until-aborted.ts'

/** An event that passes the wraps of a model call. */
export type WrapModelEvent = ModelFlow extends Flow<infer Event, AssistantMessage> ? Event : never

/** What observes the attempts of a model call. A side call only counts them. */
export interface AttemptObserver {
  /** Called when an attempt begins. Returns its number. */
  started(request: ModelRequest): number
  /** Called when the span of the attempt is open, with its context. */
  opened?(attempt: number, context: Context): void
  answered?(message: AssistantMessage, attempt: number): void
  failed?(error: unknown, attempt: number, request: ModelRequest): void
  /** Called when a wrap left the attempt before its end. */
  left?(attempt: number): void
  /** Called when the attempt has begun a call. */
  announced?(callId: string, attempt: number, context: Context): void
  /** Called when the model has written a call, as far as it is known. */
  wrote?(call: NamedCall, offered: ModelRequest['tools']): void
  /** Called when the attempt's stream has ended; `brokeOff` is the reason if it broke off. Returns how many of its calls had started. */
  ended?(attempt: number, brokeOff: DiscardCause | undefined): number
}

/** The innermost `wrapModel`: calls the model of the request, and adds run, step and attempt to its events. */
export function attemptFlow(
  run: RunState,
  request: ModelRequest,
  parent: Context,
  observer: AttemptObserver,
): ModelFlow {
  const controller = new AbortController()
  const sent = withOutputTool(request)
  const offered = request.toolChoice === 'none' ? [] : request.tools
  // The abort of the run must reach the model even if a wrap has replaced the signal in the request.
  const stops = [run.signal, request.signal]
  let following: readonly (() => void)[] = []
  let attempt = 0
  let answer: AssistantMessage | undefined
  let firstChunk: number | undefined
  let left = false

  return run.telemetry.aroundFlow(attemptSpan, parent, {
    begin: () => {
      attempt = observer.started(request)
      return { request, step: run.steps.begun, attempt }
    },
    make: (open) => {
      observer.opened?.(attempt, open.context)
      throwIfAborted(stops)
      checkChoice(sent)
      following = stops.map((signal) => follow(signal, () => controller.abort(signal.reason)))
      const stream = sent.model.stream({ ...sent, signal: controller.signal })
      return untilAborted(stream, controller.signal, (event) => {
        const problem = modelEventProblem(event)
        if (problem !== undefined)
          throw new ModelError(`the model yielded ${problem}`, { code: 'invalid_chunk', retryable: false })
        firstChunk ??= noteFirstChunk(open)
        const call = announcedCall(event)
        if ('input' in event) freeze(event.input)
        if (call) {
          observer.announced?.(call.id, attempt, open.context)
          observer.wrote?.(call, offered)
        }
        return { ...bounded(event, run.config.inputLimits), runId: run.id, step: run.steps.begun, attempt }
      })
    },
    closing: () => {
      left = true
      observer.left?.(attempt)
      controller.abort(wrapLeft())
    },
    done: (message) => {
      checkEnd(message)
      answer = freeze(withFittingReason(boundedAnswer(message, run.config.inputLimits)))
      run.addUsage(answer.usage)
      for (const call of callsOf(answer)) observer.wrote?.(call, offered)
      observer.answered?.(answer, attempt)
      return answer
    },
    failed: (thrown) => {
      const error = asAgentError(thrown, run.signal, request.signal)
      freeze(partialOf(error))
      if (!left) observer.failed?.(error, attempt, request)
      return error
    },
    came: ({ error }) => {
      for (const unfollow of following) unfollow()
      const partial = left ? undefined : partialOf(error)
      // The usage of a failed attempt counts, too.
      run.addUsage(partial?.usage)
      const brokeOff = left ? 'call_withdrawn' : error === undefined ? undefined : discardCauseOf(error)
      const early = observer.ended?.(attempt, brokeOff) ?? 0
      return { message: answer ?? partial, error, left, firstChunk, early }
    },
  })
}

/** The event with bounded contents, because a model may send a call of any length and depth. */
function bounded(event: ModelEvent, limits: InputLimits): ModelEvent {
  switch (event.type) {
    case 'tool-input-closed':
    case 'tool-call':
      return { ...event, call: freeze(boundedCall(freeze(event.call), limits)) }
    case 'tool-input-start':
    case 'tool-input-ready':
      return { ...event, name: shownName(event.name) }
    default:
      return event
  }
}

/** Returns the call that an event announces: usually its start, or the complete call if a wrap dropped the start. */
export function announcedCall(event: WrapModelEvent): NamedCall | undefined {
  if (event.type === 'tool-input-start') return event
  return event.type === 'tool-input-closed' || event.type === 'tool-call' ? event.call : undefined
}

/** Throws if a model ended without a message, or marked its response as failed. The assembler does neither, but other models may. */
function checkEnd(message: AssistantMessage): void {
  if (!isAssistantMessage(message)) {
    throw new ModelError('the model ended without a message', { code: 'stream_truncated', retryable: true })
  }
  if (!message.content.every(canBeKept)) {
    const problem = `the response has data nested deeper than ${DEEPEST} levels, or longer than ${LONGEST} characters`
    throw new ModelError(problem, { code: 'unknown', retryable: false })
  }
  if (message.finishReason === 'error') {
    const data = { code: 'finish_reason_error', retryable: true, partial: message }
    throw new ModelError('the provider ended the response with an error', data)
  }
}

/** Whether the provider's metadata and result in a part are small enough to be kept. */
function canBeKept(part: AssistantPart): boolean {
  const result = part.type === 'tool-call' && part.providerResult
  return [part.providerMetadata, result].every((data) => {
    const { characters, levels } = extentOf(data)
    return characters <= LONGEST && levels <= DEEPEST
  })
}

/** The partial response of a failed attempt. */
function partialOf(error: unknown): AssistantMessage | undefined {
  return error instanceof ModelError ? error.partial : undefined
}

/**
 * Returns the error of an attempt. If the run was aborted, that is the error of the run; if a wrap aborted the request, the reason of that abort.
 * Anything else that a model throws becomes a `ModelError`.
 */
function asAgentError(thrown: unknown, run: AbortSignal, request: AbortSignal): AgentError {
  if (run.aborted) return run.reason
  const error: unknown = request.aborted ? request.reason : thrown
  if (error instanceof AgentError) return error
  return conflictOf(error) ?? new ModelError(messageOf(error), { code: 'unknown', retryable: false, cause: error })
}
