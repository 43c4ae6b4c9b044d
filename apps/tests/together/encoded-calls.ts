/** Writes known calls as a response of a wire, in the shapes in which hosts send calls. */

import fc from 'fast-check'
import type { Called, FieldWire } from './field-agent.ts'

/** A call that the response encodes. */
export interface EncodedCall extends Called {
  readonly id: string
  /** Its arguments, whole or cut off. */
  readonly text: string
  readonly isWhole: boolean
  readonly shape: Shape
  /** How many pieces its arguments come in. */
  readonly pieces: number
}

/**
 * How a call is sent. In `lost`, what identifies its arguments is lost. In `other`, they are in other members than
 * usual, or are identified by other ones. In `plain`, nothing is unusual.
 */
export type Shape = (typeof SHAPES)[number]
const SHAPES = ['plain', 'twice', 'parts', 'object', 'drift', 'given', 'late', 'other', 'lost'] as const

/** A response that encodes calls. */
export interface Encoded {
  readonly wire: FieldWire
  readonly calls: readonly EncodedCall[]
  readonly end: string
  /** Whether the end allows the calls to run. */
  readonly mayRun: boolean
  /** Whether all calls begin first, and the arguments of each then come at the next place. */
  readonly isShifted: boolean
  /** Whether keep-alives lack their blank line, so the next event is part of them. */
  readonly isGlued: boolean
  /** Whether keep-alives, members that are null, and indexes as text are between the events. */
  readonly isNoisy: boolean
}

/** Whether all calls are whole, and it is certain which arguments belong to which call. */
export function isCertain({ calls, mayRun, isShifted }: Encoded): boolean {
  return mayRun && !isShifted && calls.every(({ isWhole, shape }) => isWhole && shape !== 'lost')
}

/** The words of the ends: those after which calls run, and those of a response that was cut off. */
const ENDS: Readonly<Record<FieldWire, { readonly run: readonly string[]; readonly cut: readonly string[] }>> = {
  chat: { run: ['tool_calls', 'TOOL_CALLS', 'tool-calls', 'stop', 'STOP'], cut: ['length', 'MAX_TOKENS', 'SAFETY'] },
  responses: {
    run: ['response.completed', 'response.done', 'requires_action'],
    cut: ['max_output_tokens', 'MAX_TOKENS', 'content_filter', 'length under response.completed'],
  },
  anthropic: { run: ['tool_use', 'tool_calls', 'STOP', 'end_turn'], cut: ['max_tokens', 'MAX_TOKENS', 'refusal'] },
}

/** `shared`: all calls have one id. `none`: their ids are none. Then no call is sent twice, since that would be two calls. */
const IDS = ['own', 'own', 'own', 'shared', 'none'] as const

const call = fc.record({
  name: fc.constantFrom('look', 'look_up', 'send', 'log'),
  value: fc.constantFrom('ann', 'a "b" {c}', '東京 🌍', 7, null, { deep: ['x', {}] }),
  isWhole: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
  cutAt: fc.double({ min: 0, max: 0.99, noNaN: true }),
  shape: fc.constantFrom(...SHAPES.slice(0, -1), ...SHAPES.slice(0, -1), 'lost' as const),
  pieces: fc.integer({ min: 1, max: 4 }),
})

export function encodedOn(wire: FieldWire): fc.Arbitrary<Encoded> {
  const { run, cut } = ENDS[wire]
  return fc
    .record({
      made: fc.array(call, { minLength: 1, maxLength: 4 }),
      ids: fc.constantFrom(...IDS),
      end: fc.constantFrom(...run, ...run, ...run, ...cut),
      isNoisy: fc.boolean(),
      isGlued: fc.boolean(),
      isShifted: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
    })
    .map(({ made, ids, end, isNoisy, isGlued, isShifted }) => ({
      wire,
      end,
      isNoisy,
      isGlued,
      isShifted,
      mayRun: run.includes(end),
      calls: made.map(({ name, value, isWhole, cutAt, shape, pieces }, n): EncodedCall => {
        const input = { n, value }
        const all = JSON.stringify(input)
        // Without any arguments it could not be distinguished from a call that has none.
        const text = isWhole ? all : all.slice(0, 1 + Math.floor(cutAt * (all.length - 1)))
        const id = ids === 'own' ? `call_${n}` : ids === 'shared' ? 'call_0' : ['', 'null'][n % 2]
        const isPlain = !isWhole || (ids !== 'own' && shape !== 'lost')
        // A shifted input looks right until the last one comes, so a tool that starts early would have run with it.
        const tool = isShifted ? name.replace(/^look.*/, 'log') : name
        return { id: id ?? '', name: tool, input, text, isWhole, pieces, shape: isPlain ? 'plain' : shape }
      }),
    }))
}

/** The pieces of the text, none of them empty. */
export function piecesOf({ text, pieces }: EncodedCall): readonly string[] {
  const size = Math.ceil(text.length / pieces)
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
}
