/** The responses of a fault script, moment by moment, as a wire would pass them to the assembler. */

import type { Assembler } from '@meanwhile/assemble'
import { type FinishReason, ModelError } from '@meanwhile/core'

/** One moment of a response; if it throws, the response fails. */
export type Moment = (to: Assembler) => void

/** The form of all responses of a script. Every script runs in each form. */
export interface Variant {
  readonly calls: number
  /** Into how many deltas the arguments are split. */
  readonly pieces: number
  /** Each call is sealed with its last delta, or only when the response ends, as on the Chat wire. */
  readonly sealed: 'at once' | 'at the end'
  /** How many turns of the event loop a tool runs. */
  readonly turns: number
}

export const VARIANTS: readonly Variant[] = [
  { calls: 1, pieces: 3, sealed: 'at once', turns: 0 },
  { calls: 2, pieces: 1, sealed: 'at the end', turns: 6 },
  { calls: 2, pieces: 2, sealed: 'at once', turns: 20 },
]

export interface Telling {
  /** The prefix of the calls' ids. Default `a`. */
  readonly attempt?: string
  /** The input of the first call; each further call has the next number. Default 0. */
  readonly from?: number
  /** The text before and after the arguments of each call. */
  readonly before?: string
  readonly after?: string
  /** The calls are sealed with this number added to their input. */
  readonly changedBy?: number
  /** The first call is repeated with the same id. */
  readonly twice?: boolean
  /** Each call has a further member after its input. */
  readonly besides?: boolean
}

/** Text, the calls with a word after each, and no end. */
export function tell(variant: Variant, telling: Telling = {}): readonly Moment[] {
  const { from = 0, twice = false } = telling
  const numbers = Array.from({ length: variant.calls }, (_, i) => from + i)
  const all = twice ? [...numbers, from] : numbers
  const calls = all.flatMap((n, label) => [...callOf(n, label, variant, telling), (to: Assembler) => to.text(' So.')])
  return [(to) => to.text('Now.'), ...calls, (to) => to.text(' That is all.')]
}

export function finish(reason: FinishReason): Moment {
  return (to) => to.finish(reason)
}

export function fail(): Moment {
  return () => {
    throw new ModelError('the connection broke', { code: 'connection_error', retryable: true })
  }
}

/** The input of a call. */
export interface Input {
  readonly n: number
  readonly besides?: string
}

function callOf(n: number, label: number, variant: Variant, telling: Telling): readonly Moment[] {
  const { attempt = 'a', before = '', after = '', changedBy, besides = false } = telling
  const id = `${attempt}${n}`
  const text = JSON.stringify({ n, ...(besides && { besides: 'this' }) } satisfies Input)
  const size = Math.ceil(text.length / variant.pieces)
  const deltas = Array.from({ length: variant.pieces }, (_, i) => text.slice(i * size, (i + 1) * size))
  const pieces = [before, ...deltas, after].filter((piece) => piece !== '')
  const stated = changedBy === undefined ? undefined : JSON.stringify({ n: n + changedBy } satisfies Input)
  return [
    (to) => to.call(label, { id, name: 'work' }),
    ...pieces.map((delta) => (to: Assembler) => to.call(label, { delta })),
    ...(stated !== undefined || variant.sealed === 'at once' ? [(to: Assembler) => to.seal(label, stated)] : []),
  ]
}
