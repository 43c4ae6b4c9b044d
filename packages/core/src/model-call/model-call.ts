/** Makes the model call of a step with its wraps, and shows its attempts to the reader. */

import type { Context } from '@opentelemetry/api'
import { definitionsOf } from '../execution/needs.ts'
import { drive } from '../flow/flow.ts'
import { attemptBegun } from '../machine/steps.ts'
import { compose, type WrapKind } from '../middleware/compose.ts'
import { checkedRequest, messageProblem, usedProblem, WRAP_MODEL_EVENTS } from '../middleware/hook-problems.ts'
import type { RunState } from '../state/run.ts'
import { attemptOver, callAnnounced, callWritten, type NamedCall, readerShown } from '../tool-call/streamed-calls.ts'
import { namesOf } from '../vocabulary/aliases.ts'
import { boundedAnswer } from '../vocabulary/call-limits.ts'
import { RunCancelled } from '../vocabulary/errors.ts'
import type { AttemptFailed, CustomEvent, DiscardCause } from '../vocabulary/events.ts'
import { ReadOnlySet } from '../vocabulary/frozen.ts'
import { freeze, isAssistantMessage } from '../vocabulary/history.ts'
import { type AssistantMessage, callsOf, type ToolCall } from '../vocabulary/message.ts'
import { partialMessage, withFittingReason } from '../vocabulary/message-shape.ts'
import type { Model, ModelEvent, ModelRequest } from '../vocabulary/model.ts'
import { ModelError } from '../vocabulary/model-errors.ts'
import { type AttemptObserver, announcedCall, attemptFlow, type WrapModelEvent } from './attempt.ts'

export interface ModelAnswer {
  readonly message: AssistantMessage
  /** The attempt that was accepted: its text deltas make up the text. Undefined if a wrap answered without an accepted attempt. */
  readonly attempt: number | undefined
}

/** Calls the model through every `wrapModel`. It reads an event only when the reader has taken the one before, so no buffer grows. */
export async function callModel(run: RunState, request: ModelRequest): Promise<ModelAnswer> {
  const attempts = new Attempts(run)
  const onion = compose(run, wrapModel(attempts), (request, parent) => attemptFlow(run, request, parent, attempts))
  try {
    const message = await drive(onion(request, run.context), (event) => {
      attempts.show(event)
      return run.events.taken()
    })
    return { message: freeze(boundedAnswer(message, run.config.inputLimits)), attempt: attempts.of(message) }
  } finally {
    attempts.reportFailures('none')
    run.halt.post({ is: 'attempts', between: false })
  }
}

const INVALID_CALL = { code: 'invalid_call_id', retryable: false } as const

function wrapModel(attempts: Attempts): WrapKind<ModelRequest, WrapModelEvent, AssistantMessage> {
  return {
    hook: 'wrapModel',
    of: (middleware) => middleware.wrapModel?.bind(middleware),
    handed: checkedRequest,
    events: WRAP_MODEL_EVENTS,
    isResult: isAssistantMessage,
    problem: (message) => attempts.problemOf(message),
    fitted: withFittingReason,
    // A call that a wrap invented is committed or discarded like any other.
    seen: (event) => attempts.announce(event),
  }
}

/** The attempts of one model call. Each failed attempt is reported exactly once: by the wrap that continues, or here. */
class Attempts implements Required<AttemptObserver> {
  readonly #run: RunState
  readonly #answers: Map<AssistantMessage, number> = new Map()
  /** The attempts that may still be accepted, running or ended, in order, with their contexts. */
  readonly #standing: Map<number, Context> = new Map()
  readonly #running: Set<number> = new Set()
  readonly #failures: { readonly attempt: number; readonly error: unknown; readonly model: Model }[] = []
  /** What the reader has seen of each attempt. 0 is for a wrap that answers without a running attempt. */
  readonly #said: Map<number, PartialResponse> = new Map()
  /** The numbers of the attempts whose failure the reader has seen. 0 never fails. */
  readonly #told: Set<number> = new Set([0])

  constructor(run: RunState) {
    this.#run = run
  }

  started({ model }: ModelRequest): number {
    const between = this.#failures.length > 0 && this.#running.size === 0
    this.#run.halt.stopAt(between ? 'after-tools' : 'after-model')
    const attempt = attemptBegun(this.#run.steps.state)
    this.#run.steps.modelCalled(() => this.#said.get(this.#latest())?.message)
    this.reportFailures('retry', model)
    this.#run.halt.post({ is: 'attempts', between: false })
    this.#run.events.push({ type: 'attempt-start', attempt, model: { provider: model.provider, id: model.id } })
    return attempt
  }

  opened(attempt: number, context: Context): void {
    this.#standing.set(attempt, context)
    this.#running.add(attempt)
  }

  answered(message: AssistantMessage, attempt: number): void {
    const problem = this.problemOf(message)
    if (problem !== undefined) throw new ModelError(problem, INVALID_CALL)
    this.#answers.set(message, attempt)
    this.#running.delete(attempt)
  }

  /** Returns what is wrong with the calls of a message that was not checked before, if anything. */
  problemOf(message: AssistantMessage): string | undefined {
    if (this.#answers.has(message)) return undefined
    const used = callsOf(message).find(({ id }) => this.#run.history.hasCall(id))
    return used ? usedProblem(used.id) : messageProblem(message)
  }

  failed(error: unknown, attempt: number, { model }: ModelRequest): void {
    this.left(attempt)
    this.#failures.push({ attempt, error, model })
  }

  left(attempt: number): void {
    this.#standing.delete(attempt)
    this.#running.delete(attempt)
  }

  announced(callId: string, attempt: number, context: Context): void {
    if (this.#run.history.hasCall(callId)) throw new ModelError(usedProblem(callId), INVALID_CALL)
    callAnnounced(this.#run, callId, attempt, context)
  }

  wrote(call: NamedCall, offered: ModelRequest['tools']): void {
    callWritten(this.#run, call, offered)
  }

  ended(attempt: number, brokeOff: DiscardCause | undefined): number {
    return attemptOver(this.#run, attempt, brokeOff)
  }

  /** Returns the number of the attempt that returned this message. If a wrap made the message: the attempt to which its events belong, or none. */
  of(message: AssistantMessage): number | undefined {
    return this.#answers.get(message) ?? (this.#latest() || undefined)
  }

  /** Announces a call to the commit gate, including one that a wrap invented. */
  announce(event: WrapModelEvent & { readonly attempt?: number }): void {
    const id = announcedCall(event)?.id
    if (id === undefined) return
    const attempt = event.attempt ?? this.#latest()
    callAnnounced(this.#run, id, attempt, this.#standing.get(attempt))
  }

  /** Shows the reader an event after all wraps, then the events that the announced call has emitted by now. */
  show(event: WrapModelEvent): void {
    const run = this.#run
    if (event.type === 'attempt-failed') this.#tell({ ...event, attempt: this.#meant(event) })
    // The wrap that emitted it has already set its source.
    else if (event.type === 'custom') run.events.push(event as CustomEvent)
    // An event that was on its way when the checkpoint was taken is not part of it.
    else if (!run.isCancelledNow) {
      const stamped = 'runId' in event ? (event as Stamped) : { ...event, attempt: event.attempt ?? this.#latest() }
      this.#saidBy(stamped.attempt).add(event)
      run.events.push(stamped)
    }
    if (event.type === 'tool-input-ready') run.calls.events.ready(event.id)
    if (event.type === 'tool-input-closed' || event.type === 'tool-call')
      readerShown(run, event.call, event.type === 'tool-call')
  }

  /** Reports the failures that no wrap has reported. An attempt with another model turns `retry` into `fallback`. */
  reportFailures(next: AttemptFailed['next'], model?: Model): void {
    for (const { attempt, error, model: failed } of this.#failures) {
      this.#tell({ type: 'attempt-failed', attempt, error, next: model && model !== failed ? 'fallback' : next })
    }
  }

  #tell(event: AttemptFailed & { readonly attempt: number }): void {
    if (this.#told.has(event.attempt)) return
    this.#told.add(event.attempt)
    this.#standing.delete(event.attempt)
    const { attempt, error } = event
    const { isCancelledNow, signal } = this.#run
    // An inner run of a cancelled run is aborted.
    const isCancelled = error instanceof RunCancelled || (isCancelledNow && error === signal.reason)
    this.#run.events.push(isCancelled ? { type: 'attempt-cancelled', attempt } : event)
    if (event.next !== 'none' && this.#running.size === 0) this.#run.halt.post({ is: 'attempts', between: true })
  }

  #saidBy(attempt: number): PartialResponse {
    let said = this.#said.get(attempt)
    if (!said) this.#said.set(attempt, (said = new PartialResponse()))
    return said
  }

  /**
   * Returns the attempt to which an event or a message of a wrap belongs: the latest one that may still be accepted. Otherwise 0, because a reader
   * drops what belongs to a failed attempt.
   */
  #latest(): number {
    return [...this.#standing.keys()].at(-1) ?? 0
  }

  /** Returns the attempt that a wrap reports as failed: the one with its error, otherwise the latest that has not been reported. */
  #meant({ error }: AttemptFailed): number {
    const failure =
      this.#failures.find((failure) => failure.error === error) ??
      this.#failures.findLast(({ attempt }) => !this.#told.has(attempt))
    return failure?.attempt ?? this.#run.steps.step.attempts
  }
}

type Stamped = ModelEvent & { readonly runId: string; readonly step: number; readonly attempt: number }

export function requestOf(run: RunState): ModelRequest {
  const { config, setup, history } = run
  let names: ReadonlySet<string> | undefined
  return Object.freeze({
    model: setup.model,
    instructions: setup.instructions,
    messages: history.messages,
    tools: definitionsOf(setup.tools, config),
    ...(setup.tools.length > 0 && { toolNames: new ReadOnlySet(() => (names ??= namesOf(setup.tools))) }),
    toolChoice: config.toolChoice,
    ...(config.output && { output: config.output.format }),
    settings: config.settings,
    inputLimits: config.inputLimits,
    takenIds: history.ids,
    signal: run.halt.nextRequest(),
  })
}

/** What an attempt has written so far. If the run is cancelled during a model call, its history keeps this. */
class PartialResponse {
  /** A text as a list of deltas, or a complete call. */
  readonly #parts: (string[] | ToolCall)[] = []

  /** Adds the event. Reasoning is not kept, because its signature comes at its end; nor are calls that the provider runs itself. */
  add(event: WrapModelEvent): void {
    if (event.type === 'text-delta') {
      const last = this.#parts.at(-1)
      if (Array.isArray(last)) last.push(event.delta)
      else this.#parts.push([event.delta])
    } else if (event.type === 'tool-call' && event.call.providerResult === undefined) this.#parts.push(event.call)
  }

  /** `undefined` if there was neither text nor a call. */
  get message(): AssistantMessage | undefined {
    return partialMessage(
      this.#parts.map((part) => (Array.isArray(part) ? { type: 'text', text: part.join('') } : part)),
    )
  }
}
