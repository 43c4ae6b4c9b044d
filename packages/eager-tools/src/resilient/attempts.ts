/** The attempts of one model call over several models: which model answers next, and whether there is a next attempt. */

import { messageOf } from '@meanwhile/core'
import { type Span, trace } from '@opentelemetry/api'
import { emitWarning, observe } from '../emit-warning.ts'
import { pause } from './backoff.ts'
import { BROKEN, errorType, isAbort, isFinal, retryAfter } from './failure.ts'
import type { AttemptEnd, AttemptRules, Models } from './options.ts'
import { ResilientError } from './resilient-error.ts'
import { ATTEMPT_FAILED, type FailedAttributes, type SpanAttributes } from './semconv.ts'

/** If a provider asks for a longer wait than this, in milliseconds, it is not asked again. */
const LONGEST_WAIT = 60_000

export class Attempts<Model extends object, Asked extends object = Model> {
  readonly #models: Models<Asked>
  readonly #rules: AttemptRules<Model>
  readonly #signal: AbortSignal | undefined
  /** The span that is active where the call is made. */
  readonly #span: Span | undefined = trace.getActiveSpan()
  readonly #errors: unknown[] = []
  #count = 1
  #waitMs = 0

  /** `models`: one for each given one, which is asked in its place. `signal`: that of the whole call. */
  constructor(models: Models<Asked>, rules: AttemptRules<Model>, signal: AbortSignal | undefined) {
    this.#models = models
    this.#rules = rules
    this.#signal = signal
  }

  /** How many attempts were begun. */
  get count(): number {
    return this.#count
  }

  /** What is asked in this attempt. */
  get model(): Asked {
    return this.#of(this.#models, this.#count)
  }

  /** Whether a response that ended with this finish reason counts. */
  isAccepted(finishReason: string): boolean {
    return !this.#isRepeated({ finishReason })
  }

  /**
   * This attempt has failed. Returns whether another one follows. `finishReason`: that of a response that does not count.
   * `shown`: how many characters the reader has received so far.
   */
  failed(error: unknown, shown: number, finishReason?: string): boolean {
    if (this.#signal?.aborted || isAbort(error)) return false
    this.#errors.push(error)
    this.#report(error, shown)
    if (this.#count > this.#rules.retries) return false
    if (finishReason === undefined && !this.#isRepeated({ error })) return false
    if (this.#given(this.#count + 1) !== this.#given(this.#count)) {
      this.#waitMs = 0
      return true
    }
    const asked = retryAfter(error)
    const repeat = Math.max(1, this.#count - this.#models.length + 1)
    this.#waitMs = Math.ceil(Math.max(this.#rules.delay(repeat), asked))
    return asked <= LONGEST_WAIT
  }

  /** Resolves when the next attempt begins. Rejects when the signal aborts before. */
  async next(signal: AbortSignal | undefined = this.#signal): Promise<void> {
    signal?.throwIfAborted()
    if (this.#waitMs > 0) await pause(this.#waitMs, signal)
    this.#count++
    this.#span?.setAttributes({ 'meanwhile.resilient.attempts': this.#count } satisfies SpanAttributes)
  }

  /** The error of the whole call, whose last attempt failed with this one. */
  failure(last: unknown): unknown {
    return this.#errors.length > 1 && this.#errors.at(-1) === last ? new ResilientError([...this.#errors]) : last
  }

  #of<One>(models: Models<One>, attempt: number): One {
    return models[Math.min(attempt, models.length) - 1] ?? models[0]
  }

  #given(attempt: number): Model {
    return this.#of(this.#rules.given, attempt)
  }

  #isRepeated(how: Pick<AttemptEnd<Model>, 'error' | 'finishReason'>): boolean {
    const attempt = this.#count
    const end = { ...how, attempt, model: this.#given(attempt), next: this.#given(attempt + 1) }
    return (this.#rules.when ?? isRepeatedByDefault)(end)
  }

  #report(error: unknown, shown: number): void {
    const attempt = this.#count
    this.#span?.addEvent(ATTEMPT_FAILED, {
      'meanwhile.attempt': attempt,
      'error.type': errorType(error),
      'meanwhile.resilient.shown': shown,
    } satisfies FailedAttributes)
    observe(
      () => this.#rules.onAttempt?.({ attempt, model: this.#given(attempt), error, shown }),
      (thrown) => emitWarning('resilient', 'observer-failed', `onAttempt threw: ${messageOf(thrown)}`),
    )
  }
}

/** Another model may succeed where this one would fail again. */
function isRepeatedByDefault<Model>({ error, finishReason, model, next }: AttemptEnd<Model>): boolean {
  if (finishReason !== undefined) return BROKEN.has(finishReason)
  return next !== model || !isFinal(error)
}
