/**
 * Collects reasoning in OpenRouter's detailed format, signed or encrypted, which must be sent back completely (qC41).
 */

import { defined } from './defined.ts'
import { isRecord } from './is-record.ts'

type Detail = Readonly<Record<string, unknown>>

/** The details of a response. They arrive in pieces. */
export class ReasoningDetails {
  readonly #details: Detail[] = []

  get all(): readonly Detail[] {
    return this.#details
  }

  add(pieces: unknown): void {
    if (!Array.isArray(pieces)) return
    for (const piece of pieces) if (isRecord(piece)) this.#add(piece)
  }

  #add(piece: Detail): void {
    const last = this.#details.at(-1)
    if (last && goesOn(last, piece)) this.#details[this.#details.length - 1] = joined(last, piece)
    else this.#details.push(piece)
  }
}

/** Encrypted details arrive as a whole. */
function goesOn(last: Detail, { type, index }: Detail): boolean {
  return last.type === type && last.index === index && (type === 'reasoning.text' || type === 'reasoning.summary')
}

function joined(last: Detail, piece: Detail): Detail {
  const spoken: Record<string, string> = {}
  for (const name of ['text', 'summary']) {
    const [before, more] = [last[name], piece[name]]
    if (typeof before === 'string') spoken[name] = typeof more === 'string' ? before + more : before
  }
  return { ...last, ...defined(piece), ...spoken }
}
