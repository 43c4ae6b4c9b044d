/**
 * Defines scripts: lists of model responses as data, each a list of steps. The same script plays in process (`scriptedModel`) and on the
 * wire, through `@meanwhile/harness`.
 */

import type { FinishReason, Usage } from '@meanwhile/core'
import { BrandedError } from '@meanwhile/core/calls'
import { argumentsText } from '../arguments-text.ts'

/** A step of a response: text, reasoning, a call, a pause, or a failure. */
export type ScriptStep =
  | { readonly type: 'say' | 'think'; readonly deltas: readonly string[] }
  | {
      readonly type: 'call'
      readonly name: string
      /** The arguments as text, cut into deltas. */
      readonly deltas: readonly string[]
      /** The provider's id of the call. Default: the reader of the script makes one. */
      readonly id?: string
    }
  /** Pauses for this many milliseconds; everything after it is delayed. */
  | { readonly type: 'wait'; readonly ms: number }
  /** The response fails: with an HTTP status if this is the first step, otherwise with an error inside the stream. */
  | {
      readonly type: 'fail'
      /** The HTTP status. */
      readonly status: number
      /** The provider's code. */
      readonly code: string
      /** The text of the error. */
      readonly message: string
      /** Milliseconds. */
      readonly retryAfter?: number
    }
  /** The stream ends here, without its protocol's terminal event. */
  | { readonly type: 'cut' }

/** A response of a model, as a script plays it. */
export interface ScriptResponse {
  /** What the model sends, in order. */
  readonly steps: readonly ScriptStep[]
  /** Why the model stopped. */
  readonly finishReason: FinishReason
  /** The token counts that it reports. */
  readonly usage: Usage
}

/** How a response ends. */
export interface ResponseOptions {
  /** Why the model stopped. Default: `tool-calls` if the response has a call, otherwise `stop`. */
  readonly finishReason?: FinishReason
  /** The token counts that the response reports. Default: none. */
  readonly usage?: Usage
}

/** The deltas of a text: their number, or the deltas themselves. */
export type Deltas = number | readonly string[]

/** Returns a response of these steps. Its finish reason is `tool-calls` if it has a call, otherwise `stop`, unless an `end` sets another one. */
export function respond(...steps: readonly (ScriptStep | ScriptEnd)[]): ScriptResponse {
  const spoken = steps.filter((step) => step.type !== 'end')
  const usual = spoken.some((step) => step.type === 'call') ? 'tool-calls' : 'stop'
  const { finishReason = usual, usage = {} } = steps.find((step) => step.type === 'end')?.options ?? {}
  return { steps: spoken, finishReason, usage }
}

/** Adds text. By default a delta is a word. */
export function say(text: string, options: { readonly deltas?: Deltas } = {}): ScriptStep {
  return { type: 'say', deltas: cutUp(text, options.deltas ?? words(text)) }
}

/** Adds reasoning. By default a delta is a word. */
export function think(text: string, options: { readonly deltas?: Deltas } = {}): ScriptStep {
  return { type: 'think', deltas: cutUp(text, options.deltas ?? words(text)) }
}

/**
 * Adds a tool call. A string as `input` is the text of the arguments, valid or not; anything else is written as JSON. By default a delta
 * has about four characters.
 */
export function call(
  name: string,
  input: unknown = {},
  options: { readonly id?: string; readonly deltas?: Deltas } = {},
): ScriptStep {
  const text = typeof input === 'string' ? input : argumentsText(input)
  const deltas = cutUp(text, options.deltas ?? (Math.ceil(text.length / 4) || 1))
  return { type: 'call', name, deltas, ...(options.id !== undefined && { id: options.id }) }
}

/** Pauses for this many milliseconds. */
export function wait(ms: number): ScriptStep {
  return { type: 'wait', ms }
}

/** How a response fails. */
export interface Failure {
  /** The HTTP status. Default 500. */
  readonly status?: number
  /** The provider's code. Default `server_error`. */
  readonly code?: string
  /** The text of the error. Default: one that names status and code. */
  readonly message?: string
  /** Milliseconds. */
  readonly retryAfter?: number
}

/** Makes the response fail: with an HTTP status if this is its first step, otherwise with an error inside the stream. */
export function fail({ status = 500, code = 'server_error', message, ...rest }: Failure = {}): ScriptStep {
  return { type: 'fail', status, code, message: message ?? `the script fails with ${status} ${code}`, ...rest }
}

/** Ends the stream here, without the protocol's terminal event. */
export function cut(): ScriptStep {
  return { type: 'cut' }
}

/** Sets how a response ends; `end` makes it. */
export interface ScriptEnd {
  readonly type: 'end'
  /** The finish reason and the token counts. */
  readonly options: ResponseOptions
}

/** Sets how the response ends, if it does not end in the usual way. */
export function end(options: ResponseOptions): ScriptEnd {
  return { type: 'end', options }
}

function words(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/g) ?? []
}

function cutUp(text: string, deltas: Deltas): readonly string[] {
  if (typeof deltas !== 'number') {
    if (deltas.join('') !== text)
      throw new ScriptError(`the deltas of ${JSON.stringify(text)} do not make up that text`)
    return deltas
  }
  if (!Number.isInteger(deltas) || deltas < 1) throw new ScriptError(`deltas: ${deltas} is not a number of pieces`)
  const count = Math.min(deltas, text.length)
  const at = (piece: number): number => Math.round((piece * text.length) / count)
  return Array.from({ length: count }, (_, piece) => text.slice(at(piece), at(piece + 1)))
}

/** A script contradicts itself, or does not match the request. */
export class ScriptError extends BrandedError {
  static override readonly brand: string = 'ScriptError'
}
