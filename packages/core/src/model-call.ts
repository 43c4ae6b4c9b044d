/** One model call of a step: the wraps round it, its attempts, and what the reader sees of them. */

import type { Context } from '@opentelemetry/api'
import { compose, type WrapKind } from './compose.ts'
import { AgentError, ModelError, messageOf } from './errors.ts'
import type { AgentEvent, AttemptFailed } from './events.ts'
import type { Flow } from './flow.ts'
import { freeze } from './history.ts'
import type { AssistantMessage } from './message.ts'
import type { ModelFlow } from './middleware.ts'
import type { Model, ModelEvent, ModelRequest } from './model.ts'
import type { RunState } from './run.ts'
import { CALLS_EARLY, FINISH_REASONS, OUTCOME, TIME_TO_FIRST_CHUNK } from './telemetry/semconv.ts'
import { outcomeOf, setError, setResponse, setUsage, startChatSpan } from './telemetry/spans.ts'
import { traced } from './telemetry/traced.ts'

type WrapModelEvent = ModelFlow extends Flow<infer Event, AssistantMessage> ? Event : never

export interface ModelAnswer {
  readonly message: AssistantMessage
  /** The attempt that stood; absent if a wrap answered itself. */
  readonly attempt?: number
}

/** Asks the model, through all `wrapModel`s. Left early, it ends the request. */
export async function* callModel(run: RunState, request: ModelRequest): Flow<AgentEvent, ModelAnswer> {
  const attempts = new Attempts(run)
  const onion = compose(run, wrapModel, (request, parent) => attempts.flow(request, parent))
  try {
    const flow = onion(request, run.context)
    const message = yield* run.funnel.merge(
      flow,
      (event) => attempts.show(event),
      () => run.cancelRequest(),
    )
    const attempt = attempts.of(message)
    return { message: freeze(message), ...(attempt !== undefined && { attempt }) }
  } finally {
    attempts.reportFailures('none')
  }
}

const wrapModel: WrapKind<ModelRequest, WrapModelEvent, AssistantMessage> = {
  hook: 'wrapModel',
  of: (middleware) => middleware.wrapModel?.bind(middleware),
  isResult: (value) =>
    typeof value === 'object' &&
    value !== null &&
    'role' in value &&
    value.role === 'assistant' &&
    'content' in value &&
    Array.isArray(value.content),
  ownsThrows: true,
}

interface Failure {
  readonly attempt: number
  readonly error: unknown
  readonly model: Model
}

class Attempts {
  readonly #run: RunState
  readonly #answered: WeakMap<AssistantMessage, number> = new WeakMap()
  /** The failures no event has told of yet (J7). */
  #unreported: Failure[] = []
  readonly #first: number

  constructor(run: RunState) {
    this.#run = run
    this.#first = run.attempts
  }

  /** The attempt that gave this message; the last one if a wrap made it of one. */
  of(message: AssistantMessage): number | undefined {
    return this.#answered.get(message) ?? (this.#run.attempts > this.#first ? this.#run.attempts : undefined)
  }

  /** One attempt: a request inside its `chat` span. */
  flow(request: ModelRequest, parent: Context): ModelFlow {
    const run = this.#run
    const attempt = { number: 0, started: 0, firstEvent: 0, early: 0 }
    const controller = new AbortController()
    const follow = () => controller.abort(request.signal.reason)
    return traced<WrapModelEvent, AssistantMessage>({
      open: () => {
        attempt.number = ++run.attempts
        attempt.started = performance.now()
        this.reportFailures('retry', request.model)
        const { provider, id } = request.model
        run.push({ type: 'attempt-start', attempt: attempt.number, model: { provider, id } })
        const place = { step: run.step, attempt: attempt.number, conversationId: run.conversationId }
        return startChatSpan(run.tracer, parent, request, place)
      },
      make: ({ span }) => {
        request.signal.throwIfAborted()
        request.signal.addEventListener('abort', follow, { once: true })
        const stream = request.model.stream({ ...request, signal: controller.signal })
        return heeding(stream, controller.signal, (event) => {
          attempt.firstEvent ||= performance.now()
          if ('id' in event || 'call' in event)
            run.calls.announced('call' in event ? event.call.id : event.id, attempt.number, span)
          return { ...event, runId: run.id, step: run.step, attempt: attempt.number }
        })
      },
      done: ({ span }, message) => {
        this.#answered.set(message, attempt.number)
        setResponse(span, message)
        run.addUsage(message.usage)
        return message
      },
      failed: (thrown) => {
        const error = this.#explain(thrown, request.signal)
        this.#unreported.push({ attempt: attempt.number, error, model: request.model })
        return error
      },
      ended: ({ span }, error) => {
        request.signal.removeEventListener('abort', follow)
        controller.abort()
        if (error !== undefined) {
          const partial = error instanceof ModelError ? error.partial : undefined
          run.addUsage(partial?.usage)
          if (partial?.usage) setUsage(span, partial.usage)
          if (outcomeOf(error) === 'failed') span.setAttribute(FINISH_REASONS, ['error'])
          setError(span, error)
        }
        if (attempt.firstEvent) span.setAttribute(TIME_TO_FIRST_CHUNK, (attempt.firstEvent - attempt.started) / 1000)
        span.setAttribute(CALLS_EARLY, run.calls.attemptEnded(attempt.number))
        span.setAttribute(OUTCOME, outcomeOf(error))
        span.end(performance.now())
      },
    })
  }

  /** Shows the reader an event as it came out of all wraps, then what the call it tells of has emitted by now (B7). */
  show(event: WrapModelEvent): void {
    const run = this.#run
    if (event.type === 'attempt-failed') run.push({ ...event, attempt: this.#reported(event) })
    else if (event.type === 'custom') run.push({ source: 'wrapModel', ...event })
    else run.funnel.push(isStamped(event) ? event : run.event({ ...event, attempt: event.attempt ?? run.attempts }))
    if (event.type === 'tool-input-closed' || event.type === 'tool-call')
      run.calls.shown(event.call, event.type === 'tool-call')
  }

  /** Tells of the failures that no wrap told of; an attempt of another model makes `retry` a `fallback`. */
  reportFailures(next: AttemptFailed['next'], model?: Model): void {
    for (const { attempt, error, model: failed } of this.#unreported.splice(0)) {
      this.#run.push({ type: 'attempt-failed', attempt, error, next: model && model !== failed ? 'fallback' : next })
    }
  }

  /** The attempt that a wrap tells has failed: by its error, else the latest. */
  #reported({ error }: AttemptFailed): number {
    const index = this.#unreported.findIndex((failure) => failure.error === error)
    const [failure] = this.#unreported.splice(index, 1)
    return failure?.attempt ?? this.#run.attempts
  }

  #explain(thrown: unknown, signal: AbortSignal): unknown {
    if (this.#run.signal.aborted) return this.#run.signal.reason
    const error = signal.aborted ? signal.reason : thrown
    if (error instanceof AgentError) return error
    return new ModelError(messageOf(error), { code: 'unknown', retryable: false, cause: error })
  }
}

type Stamped = ModelEvent & { readonly runId: string; readonly step: number; readonly attempt: number }

function isStamped(event: WrapModelEvent): event is Stamped {
  return 'runId' in event
}

/** A stream that ends, by a throw of the signal's reason, when the signal aborts, even if its model does not heed it. */
function heeding(
  stream: Flow<ModelEvent, AssistantMessage>,
  signal: AbortSignal,
  map: (event: ModelEvent) => WrapModelEvent,
): Flow<WrapModelEvent, AssistantMessage> {
  return (async function* () {
    let reject: (reason: unknown) => void = () => undefined
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    let pending = false
    try {
      for (;;) {
        pending = true
        const step = await new Promise<IteratorResult<ModelEvent, AssistantMessage>>((resolve, fail) => {
          reject = fail
          if (signal.aborted) fail(signal.reason)
          stream.next().then(resolve, fail)
        })
        pending = false
        if (step.done) return step.value
        yield map(step.value)
      }
    } finally {
      signal.removeEventListener('abort', abort)
      const closed = stream.return(undefined as never)
      // A model that does not heed its signal must not hold the run; one that waits at a yield is closed at once.
      if (pending) closed.catch(() => undefined)
      else await closed
    }
  })()
}
