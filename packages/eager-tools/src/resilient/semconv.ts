/**
 * The names of what `resilient()` records, with their meanings: on the span that is active where the model is called. `npm run
 * docs:telemetry` generates a part of `docs/telemetry.md` from this file, in the format of core's `semconv.ts`.
 */

type Int = number

/** An event for each failed attempt. */
export const ATTEMPT_FAILED = 'meanwhile.resilient.attempt_failed'

export interface SpanAttributes {
  /** the span · How many attempts were begun; absent if it was one. */
  'meanwhile.resilient.attempts': Int
}

/** Of the event {@link ATTEMPT_FAILED}. */
export interface FailedAttributes {
  /** the event · The number of the attempt, from 1. */
  'meanwhile.attempt': Int
  /** the event · Our own code, an HTTP status, or the name of the error. */
  'error.type': string
  /** the event · How many characters of text and reasoning the reader had received by then. */
  'meanwhile.resilient.shown': Int
}
