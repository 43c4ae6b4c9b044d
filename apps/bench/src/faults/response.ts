/** What a model says in a fault script, moment by moment: what a wire would tell the assembler. */

import { type Assembler, type FinishReason, ModelError } from '@meanwhile/core'

/** One moment of a response; what it throws is the response's failure. */
export type Moment = (to: Assembler) => void

/** The shape of all responses of a script. Every script is played in each. */
export interface Variant {
  readonly calls: number
  /** Into how many deltas the arguments are cut. */
  readonly pieces: number
  /** Each call is stated to be complete with its last delta, or not before the response ends, as on the Chat wire. */
  readonly sealed: 'at once' | 'at the end'
  /** How many turns of the event loop a tool works. */
  readonly turns: number
}

export const VARIANTS: readonly Variant[] = [
  { calls: 1, pieces: 3, sealed: 'at once', turns: 0 },
  { calls: 2, pieces: 1, sealed: 'at the end', turns: 6 },
  { calls: 2, pieces: 2, sealed: 'at once', turns: 20 },
]

export interface Telling {
  /** The ids of the calls begin with it. Default `a`. */
  readonly attempt?: string
  /** What the calls ask for: the first for this number, each further one for the next. Default 0. */
  readonly from?: number
  /** What comes before and after the arguments of each call. */
  readonly before?: string
  readonly after?: string
  /** The calls are stated to be complete, with this added to what they ask for. */
  readonly changedBy?: number
  /** The first call comes once more, under the same id. */
  readonly twice?: boolean
  /** Each call asks for something besides, behind what it asks for. */
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

/** What is asked for. */
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
