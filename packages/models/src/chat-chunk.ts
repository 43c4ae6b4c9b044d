/** The chunks of a Chat Completions stream, in the forms in which hosts send them. */

import { isRecord } from './is-record.ts'
import { argumentsIn, idIn, wordIn } from './wire-values.ts'

/** The members that are read from a chunk. Hosts omit members, set them to null and add others, so none is required. */
export interface ChatChunk {
  readonly id?: string | null
  readonly model?: string | null
  readonly choices?: readonly ChatChoice[] | null
  readonly usage?: ChatUsage | null
  /** Groq. */
  readonly x_groq?: { readonly usage?: ChatUsage | null } | null
}

export interface ChatChoice {
  readonly index?: unknown
  readonly delta?: ChatDelta | null
  /** In place of a delta: in a response that is not streamed, and on hosts that stream in that form. */
  readonly message?: ChatDelta | null
  readonly finish_reason?: unknown
  /** Moonshot. */
  readonly usage?: ChatUsage | null
}

export interface ChatDelta {
  readonly role?: string | null
  readonly content?: unknown
  readonly refusal?: unknown
  readonly reasoning_content?: unknown
  readonly reasoning?: unknown
  /** Copilot. */
  readonly reasoning_text?: unknown
  readonly reasoning_opaque?: unknown
  /** OpenRouter. */
  readonly reasoning_details?: unknown
  /** LiteLLM. */
  readonly thinking_blocks?: unknown
  readonly provider_specific_fields?: unknown
  readonly tool_calls?: unknown
  readonly function_call?: unknown
  readonly extra_content?: unknown
}

export interface ChatUsage {
  readonly prompt_tokens?: number | null
  readonly completion_tokens?: number | null
  readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number } | null
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null
}

/** The content of a piece of a call; `undefined` for what it does not contain. */
export interface Said {
  readonly index: string | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly text: string | undefined
}

/** Ids and indexes may be numbers or strings; an id that is empty or `"null"` is none (qC8, qC54). */
export function saidIn({ index, id, function: called }: Readonly<Record<string, unknown>>): Said {
  const { name, arguments: text } = isRecord(called) ? called : {}
  return {
    index: wordIn(index),
    id: idIn(id),
    name: wordIn(name),
    // Arguments may also be a value in place of its JSON text (qC16).
    text: argumentsIn(text) || undefined,
  }
}

/** Further choices (`n` above 1) are separate responses, which one message cannot hold (qC29). */
export function isFirst({ index }: ChatChoice): boolean {
  return Number(index ?? 0) === 0
}

/** Reads the choices of a response as deltas. */
export class Deltas {
  /** The names of the members that had content. */
  readonly #told = new Set<string>()

  /** The delta of a choice. A whole message after deltas repeats them, so only its other members count. */
  of({ delta, message }: ChatChoice): ChatDelta {
    if (message && !hasContent(delta))
      return Object.fromEntries(Object.entries(message).filter(([name]) => !this.#told.has(name)))
    for (const [name] of contentOf(delta)) this.#told.add(name)
    return delta ?? {}
  }
}

/** Whether it has content besides its role. */
export function hasContent(delta: ChatDelta | null | undefined): boolean {
  return contentOf(delta).length > 0
}

function contentOf(delta: ChatDelta | null | undefined): [name: string, value: unknown][] {
  return Object.entries(delta ?? {}).filter(([name, value]) => name !== 'role' && isPresent(value))
}

function isPresent(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== '' && value !== null
}

/** The elements of a list; hosts also send a single element in place of it, or nothing. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : isRecord(value) ? [value] : []
}

/** A reason; hosts also send `""` and `"null"` before the end. */
export function reasonIn({ finish_reason: reason }: ChatChoice): string | undefined {
  return typeof reason === 'string' && reason !== '' && reason !== 'null' ? reason : undefined
}
