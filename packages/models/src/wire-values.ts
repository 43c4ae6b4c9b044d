/** Reads ids, places and arguments in the forms in which hosts send them. */

import { argumentsText } from '@meanwhile/assemble'

/** The id as text; `undefined` for an empty id and for the text `null`, which Mistral sends. */
export function idIn(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' && value !== 'null' ? value : undefined
}

/** A word, or a number as one; `undefined` for anything else, and for an empty text. */
export function wordIn(value: unknown): string | undefined {
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? String(value) : undefined
}

/** The index of a call, an item or a block. */
export function placeIn(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : undefined
}

/** A piece of text; empty for anything else. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Arguments, or a piece of them, as text: some hosts send the value in place of its JSON. */
export function argumentsIn(value: unknown): string {
  if (typeof value === 'string') return value
  return value === null ? '' : argumentsText(value)
}
