/**
 * Collects reasoning that is signed or encrypted and must be sent back completely: OpenRouter's details (qC41), and
 * LiteLLM's thinking blocks (qC59).
 */

import { defined } from './defined.ts'
import { isRecord } from './is-record.ts'

type Detail = Readonly<Record<string, unknown>>

/** The details of a response. They arrive in pieces. */
export class ReasoningDetails {
  readonly #details: Detail[] = []

  /** All details except thinking blocks without a signature, which their provider does not accept. */
  get all(): readonly Detail[] {
    return this.#details.filter(({ type, signature }) => type !== 'thinking' || isSigned(signature))
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

/** Encrypted details arrive as a whole, and the signature ends a thinking block. */
function goesOn(last: Detail, { type, index }: Detail): boolean {
  if (last.type !== type || last.index !== index) return false
  return type === 'thinking' ? !isSigned(last.signature) : type === 'reasoning.text' || type === 'reasoning.summary'
}

function isSigned(signature: unknown): boolean {
  return signature !== undefined && signature !== null && signature !== ''
}

function joined(last: Detail, piece: Detail): Detail {
  const spoken: Record<string, string> = {}
  for (const name of ['text', 'summary', 'thinking']) {
    const [before, more] = [last[name], piece[name]]
    if (typeof before === 'string') spoken[name] = typeof more === 'string' ? before + more : before
  }
  return { ...last, ...defined(piece), ...spoken }
}
