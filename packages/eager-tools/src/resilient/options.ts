/** The options of `resilient()` that do not depend on a library, and their checks. */

import { ConfigError, type OptionNames } from '@meanwhile/core'
import { shownValue } from '@meanwhile/core/calls'
import { LONGEST } from '../host/hold.ts'
import { type BackoffOptions, backoff } from './backoff.ts'

/** How an attempt has ended: with an error, or with a finish reason. */
export interface AttemptEnd<Model> {
  /** From 1. */
  readonly attempt: number
  /** The model that made the attempt. */
  readonly model: Model
  /** The model that would make the next attempt. */
  readonly next: Model
  /** What was thrown or reported; also for a stream that is silent or ends without a finish. Absent with a finish reason. */
  readonly error?: unknown
  /** Why the model stopped; only in the AI SDK. */
  readonly finishReason?: string
}

/** An attempt that has failed. */
export interface FailedAttempt<Model> {
  /** From 1. */
  readonly attempt: number
  /** The model that made the attempt. */
  readonly model: Model
  /** What was thrown or reported; also for a stream that is silent or ends without a finish. */
  readonly error: unknown
  /** How many characters of text and reasoning the reader has received so far. */
  readonly shown: number
}

/** Options that are the same for each library. */
export interface AttemptOptions<Model> {
  /** Further attempts after the first, over all models. Attempt n uses the n-th model, or else the last. Default 2. */
  readonly retries?: number
  /** How long a response that has begun may be silent, in milliseconds; `Infinity` for no limit. Default 60,000. */
  readonly idle?: number
  /**
   * How long the first text, reasoning or call may take, in milliseconds; `Infinity` for no limit. A model may think
   * silently. Default 300,000.
   */
  readonly firstOutput?: number
  /**
   * Whether an attempt that ended like this is repeated. Default: after an error that is not final, after a final one if
   * the next model is another one, and after the finish reasons `error` and `interrupted`. Final are errors with
   * `isRetryable: false` and the HTTP statuses 400, 401, 403, 404 and 422. An abort is never repeated.
   */
  readonly when?: (end: AttemptEnd<Model>) => boolean
  /**
   * What happens to text that was shown when a later attempt has other text: with `close` it ends, and the whole text of
   * the later attempt follows; `hold` shows nothing before an attempt has ended well. Default `close`. JSON is always held.
   */
  readonly text?: 'close' | 'hold'
  /** The wait before the same model is asked again. Another model is asked at once. */
  readonly backoff?: BackoffOptions
  /** Receives each attempt that has failed. */
  readonly onAttempt?: (failed: FailedAttempt<Model>) => void
}

/** For libraries that do not tell how a response has ended. */
export interface FinishOptions {
  /**
   * `false` if the provider never sends a finish reason: then a response without one is not regarded as cut off. Default
   * true.
   */
  readonly finishes?: boolean
}

/** The rules that follow from the options. */
export interface AttemptRules<Model> extends Pick<AttemptOptions<Model>, 'when' | 'onAttempt'> {
  /** The models as the user knows them. */
  readonly given: Models<Model>
  readonly retries: number
  /** The milliseconds before the n-th repeat. */
  readonly delay: (repeat: number) => number
  /** Nothing is shown before an attempt stands. */
  readonly hold: boolean
}

export type Models<Model> = readonly [Model, ...Model[]]

/** How long a response may be silent, in milliseconds. */
export interface SilenceLimits {
  readonly idle: number
  readonly firstOutput: number
}

export const ATTEMPT_OPTIONS: OptionNames<AttemptOptions<unknown>> = {
  retries: 'maxRetries attempts',
  idle: 'timeout chunkMs',
  firstOutput: 'firstChunkMs',
  when: 'shouldRetry',
  text: 'mode',
  backoff: '',
  onAttempt: 'onError onRetry',
}

/** @throws {ConfigError} It is not a list, or it is empty; or `checked` throws. */
export function modelsOf<Given, Model>(given: readonly Given[], checked: (one: Given) => Model): Models<Model> {
  if (!Array.isArray(given)) throw new ConfigError('models', 'must be a list of models: resilient([model, other])')
  const [first, ...others] = given.map(checked)
  if (!first) throw new ConfigError('models', 'must have at least one model')
  return [first, ...others]
}

/** @throws {ConfigError} The option is wrong. */
export function finishesOf({ finishes = true }: FinishOptions): boolean {
  if (typeof finishes !== 'boolean') throw new ConfigError('finishes', 'must be true or false')
  return finishes
}

/** @throws {ConfigError} An option is wrong; the error names it. */
export function rulesOf<Model>(options: AttemptOptions<Model>): Omit<AttemptRules<Model>, 'given'> & SilenceLimits {
  const { retries = 2, idle = 60_000, firstOutput = 300_000, when, text = 'close', onAttempt } = options
  if (!Number.isInteger(retries) || retries < 0)
    throw new ConfigError('retries', `must be 0 or a positive integer, not ${shownValue(retries)}`)
  for (const [name, ms] of Object.entries({ idle, firstOutput })) {
    const isTime = ms === Number.POSITIVE_INFINITY || (typeof ms === 'number' && ms > 0 && ms <= LONGEST)
    if (!isTime) throw new ConfigError(name, `must be milliseconds, more than 0 and at most ${LONGEST}, or Infinity`)
  }
  for (const [name, value] of Object.entries({ when, onAttempt })) {
    if (value !== undefined && typeof value !== 'function') throw new ConfigError(name, 'must be a function')
  }
  if (text !== 'close' && text !== 'hold') throw new ConfigError('text', "must be 'close' or 'hold'")
  return {
    retries,
    idle,
    firstOutput,
    delay: backoff(options.backoff),
    hold: text === 'hold',
    ...(when && { when }),
    ...(onAttempt && { onAttempt }),
  }
}
