/** Checks what callers pass to the methods of durable runs. A wrong or unknown option throws {@link ConfigError} before anything is stored. */

import { type Answers, type CancelMode, ConfigError, checkOptions, type Effect } from '@meanwhile/core'
import { CANCEL_MODES } from './runs-table.ts'

export function checkAnswerObject(answers: Answers): void {
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers))
    throw new ConfigError('answers', 'must be an object with the answers by the ids of their interrupts')
}

export function cancelOptions(options: { readonly at?: CancelMode }): { readonly at: CancelMode } {
  checkOptions('cancel', options, { at: 'mode' })
  const { at = 'now' } = options
  if (!CANCEL_MODES.includes(at)) throw new ConfigError('at', `must be one of ${CANCEL_MODES.join(', ')}`)
  return { at }
}

const EFFECTS: readonly Effect[] = ['read', 'idempotent', 'reversible', 'external', 'calls']

export function retryOptions(options: { readonly rerun?: readonly Effect[] }): typeof options {
  checkOptions('retry', options, { rerun: '' })
  const { rerun } = options
  if (rerun !== undefined && !(Array.isArray(rerun) && rerun.every((effect) => EFFECTS.includes(effect))))
    throw new ConfigError('rerun', `must be a list of effects: ${EFFECTS.join(', ')}`)
  return options
}

export function resultOptions(options: { readonly signal?: AbortSignal }): typeof options {
  checkOptions('result', options, { signal: 'abortSignal' })
  checkSignal(options.signal)
  return options
}

/** The options of `events`. */
export interface ReadOptions {
  /** A cursor: reads the events after it. Default: from the beginning. */
  readonly after?: string
  /** `false`: ends after the events that are stored now. Default `true`: waits for more, until the run ends. */
  readonly follow?: boolean
  /** Aborts the reader, which throws the signal's reason. The run continues. */
  readonly signal?: AbortSignal
}

export function readOptions(options: ReadOptions): ReadOptions {
  checkOptions('events', options, { after: 'cursor', follow: '', signal: 'abortSignal' })
  checkSignal(options.signal)
  if (options.follow !== undefined && typeof options.follow !== 'boolean')
    throw new ConfigError('follow', 'must be true or false')
  return options
}

function checkSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined && typeof signal?.addEventListener !== 'function')
    throw new ConfigError('signal', 'must be an AbortSignal')
}
