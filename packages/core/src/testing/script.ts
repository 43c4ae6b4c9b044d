/**
 * What a model says, as data: a list of responses, each a list of steps. The same script plays in process (`scriptedModel`) and,
 * through `@meanwhile/harness`, on the wire.
 */

import { argumentsText } from '../assemble/arguments-text.ts'
import type { FinishReason, Usage } from '../vocabulary/message.ts'

export type ScriptStep =
  | { readonly type: 'say' | 'think'; readonly deltas: readonly string[] }
  | {
      readonly type: 'call'
      readonly name: string
      /** The arguments as text, cut into deltas. */
      readonly deltas: readonly string[]
      readonly id?: string
    }
  /** Nothing comes for so many milliseconds; what follows is due that much later. */
  | { readonly type: 'wait'; readonly ms: number }
  /** The response fails: as an HTTP status if it is the first step, else as an error inside the stream. */
  | {
      readonly type: 'fail'
      readonly status: number
      readonly code: string
      readonly message: string
      /** Milliseconds. */
      readonly retryAfter?: number
    }
  /** The stream ends here, without its protocol's terminal event. */
  | { readonly type: 'cut' }

export interface ScriptResponse {
  readonly steps: readonly ScriptStep[]
  readonly finishReason: FinishReason
  readonly usage: Usage
}

/** How a response ends. */
export interface ResponseOptions {
  readonly finishReason?: FinishReason
  readonly usage?: Usage
}

/** The pieces in which a text comes: their number, or the pieces themselves. */
export type Deltas = number | readonly string[]

/** A response of these steps. Unless an `end` says otherwise it ends with `tool-calls` if there is a call, else with `stop`. */
export function respond(...steps: readonly (ScriptStep | ScriptEnd)[]): ScriptResponse {
  const spoken = steps.filter((step) => step.type !== 'end')
  const usual = spoken.some((step) => step.type === 'call') ? 'tool-calls' : 'stop'
  const { finishReason = usual, usage = {} } = steps.find((step) => step.type === 'end')?.options ?? {}
  return { steps: spoken, finishReason, usage }
}

/** Text; by default a delta is a word. */
export function say(text: string, options: { readonly deltas?: Deltas } = {}): ScriptStep {
  return { type: 'say', deltas: cutUp(text, options.deltas ?? words(text)) }
}

/** Reasoning; by default a delta is a word. */
export function think(text: string, options: { readonly deltas?: Deltas } = {}): ScriptStep {
  return { type: 'think', deltas: cutUp(text, options.deltas ?? words(text)) }
}

/**
 * A tool call. An `input` that is a string is the text of the arguments, as it is, valid or not; anything else is written as JSON.
 * By default a delta is about four characters.
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

/** Nothing comes for so many milliseconds. */
export function wait(ms: number): ScriptStep {
  return { type: 'wait', ms }
}

export interface Failure {
  readonly status?: number
  readonly code?: string
  readonly message?: string
  /** Milliseconds. */
  readonly retryAfter?: number
}

/** The response fails: as an HTTP status if this is its first step, else as an error inside the stream. */
export function fail({ status = 500, code = 'server_error', message, ...rest }: Failure = {}): ScriptStep {
  return { type: 'fail', status, code, message: message ?? `the script fails with ${status} ${code}`, ...rest }
}

/** The stream ends here, without its protocol's terminal event. */
export function cut(): ScriptStep {
  return { type: 'cut' }
}

export interface ScriptEnd {
  readonly type: 'end'
  readonly options: ResponseOptions
}

/** How the response ends, where that is not as usual. */
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
  if (!Number.isInteger(deltas) || deltas < 1) throw new ScriptError(`deltas: ${deltas} is no number of pieces`)
  const count = Math.min(deltas, text.length)
  const at = (piece: number): number => Math.round((piece * text.length) / count)
  return Array.from({ length: count }, (_, piece) => text.slice(at(piece), at(piece + 1)))
}

/** A script that contradicts itself, or does not fit the request. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError'
}
