/** One model call of a step: the wraps round it, and what the reader sees of its attempts. */

import { type AttemptObserver, attemptFlow, isAssistantMessage, type WrapModelEvent } from './attempt.ts'
import { compose, type WrapKind } from './compose.ts'
import type { AgentEvent, AttemptFailed } from './events.ts'
import type { Flow } from './flow.ts'
import { freeze } from './history.ts'
import type { AssistantMessage } from './message.ts'
import type { Model, ModelEvent, ModelRequest } from './model.ts'
import type { RunState } from './run.ts'

export interface ModelAnswer {
  readonly message: AssistantMessage
  /** The attempt that stood; absent if a wrap answered itself. */
  readonly attempt?: number
}

/** Asks the model, through all `wrapModel`s. Left early, it ends the request. */
export async function* callModel(run: RunState, request: ModelRequest): Flow<AgentEvent, ModelAnswer> {
  const attempts = new Attempts(run)
  const onion = compose(run, wrapModel(run), (request, parent) => attemptFlow(run, request, parent, attempts))
  try {
    const message = yield* run.funnel.merge(
      onion(request, run.context),
      (event) => attempts.show(event),
      () => run.cancelRequest(),
    )
    const attempt = attempts.of(message)
    return { message: freeze(message), ...(attempt !== undefined && { attempt }) }
  } finally {
    attempts.reportFailures('none')
  }
}

function wrapModel(run: RunState): WrapKind<ModelRequest, WrapModelEvent, AssistantMessage> {
  return {
    hook: 'wrapModel',
    of: (middleware) => middleware.wrapModel?.bind(middleware),
    isResult: isAssistantMessage,
    ownsThrows: true,
    // A call that a wrap makes up goes through the commit gate like any other.
    seen(event) {
      if ('call' in event) run.calls.announced(event.call.id, event.attempt ?? 0)
      else if ('id' in event) run.calls.announced(event.id, event.attempt ?? 0)
    },
  }
}

interface Failure {
  readonly attempt: number
  readonly error: unknown
  readonly model: Model
}

/** The attempts of one model call. Each failed one is told of exactly once (J7): by the wrap that goes on, else by us. */
class Attempts implements AttemptObserver {
  readonly #run: RunState
  readonly #answers: WeakMap<AssistantMessage, number> = new WeakMap()
  readonly #failures: Failure[] = []
  /** Numbers of attempts whose failure the reader was told of; 0 is none. */
  readonly #told: Set<number> = new Set([0])

  constructor(run: RunState) {
    this.#run = run
  }

  started({ model }: ModelRequest): number {
    const attempt = ++this.#run.attempts
    this.reportFailures('retry', model)
    this.#run.push({ type: 'attempt-start', attempt, model: { provider: model.provider, id: model.id } })
    return attempt
  }

  answered(message: AssistantMessage, attempt: number): void {
    this.#answers.set(message, attempt)
  }

  failed(error: unknown, attempt: number, { model }: ModelRequest): void {
    this.#failures.push({ attempt, error, model })
  }

  /** The attempt that gave this message; the last one if a wrap made it of one; none if there was none (B9). */
  of(message: AssistantMessage): number | undefined {
    return this.#answers.get(message) ?? (this.#run.attempts || undefined)
  }

  /** Shows the reader an event as it came out of all wraps, then what the call it tells of has emitted by now (B7). */
  show(event: WrapModelEvent): void {
    const run = this.#run
    if (event.type === 'attempt-failed') this.#tell({ ...event, attempt: this.#meant(event) })
    else if (event.type === 'custom') run.push({ source: 'wrapModel', ...event })
    else run.funnel.push(isStamped(event) ? event : run.event({ ...event, attempt: event.attempt ?? run.attempts }))
    if (event.type === 'tool-input-closed' || event.type === 'tool-call')
      run.calls.shown(event.call, event.type === 'tool-call')
  }

  /** Tells of the failures that no wrap told of; an attempt of another model makes `retry` a `fallback`. */
  reportFailures(next: AttemptFailed['next'], model?: Model): void {
    for (const { attempt, error, model: failed } of this.#failures) {
      this.#tell({ type: 'attempt-failed', attempt, error, next: model && model !== failed ? 'fallback' : next })
    }
  }

  #tell(event: AttemptFailed & { readonly attempt: number }): void {
    if (this.#told.has(event.attempt)) return
    this.#told.add(event.attempt)
    this.#run.push(event)
  }

  /** The attempt that a wrap says has failed: by its error, else the latest that nobody has told of. */
  #meant({ error }: AttemptFailed): number {
    const failure =
      this.#failures.find((failure) => failure.error === error) ??
      this.#failures.findLast(({ attempt }) => !this.#told.has(attempt))
    return failure?.attempt ?? this.#run.attempts
  }
}

type Stamped = ModelEvent & { readonly runId: string; readonly step: number; readonly attempt: number }

function isStamped(event: WrapModelEvent): event is Stamped {
  return 'runId' in event
}
