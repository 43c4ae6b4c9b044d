/** The chunks of a Chat Completions stream, in the forms in which hosts send them. */

import { sameArguments } from './canonical-arguments.ts'
import { isEmptyInput } from './empty-input.ts'
import { ContradictionError, UnreadableError } from './explain.ts'
import { isRecord } from './is-record.ts'
import { parsedJson } from './parsed-json.ts'
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
  /** In place of both, on hosts that respond with a completion of text. */
  readonly text?: unknown
  readonly finish_reason?: unknown
  /** OpenRouter: the error that ended this choice (qC67). */
  readonly error?: unknown
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
export function saidIn(piece: Members): Said {
  const { index, id, function: called } = piece
  const inside = isRecord(called) ? called : { name: called }
  return {
    index: wordIn(index),
    id: idIn(id),
    name: wordIn(inside.name) ?? wordIn(piece.name),
    text: textOf(inside, piece),
  }
}

/**
 * The arguments of a piece. They may also be a value in place of its JSON text (qC16). Some hosts send them next to the
 * member `function`, or under another name (qC62). Empty ones count only if there are no others.
 *
 * @throws {ContradictionError} There are two.
 */
function textOf(inside: Members, piece: Members): string | undefined {
  const [text, beside] = [argumentsOf(inside), argumentsOf(piece)]
  if (isFilled(text) && isFilled(beside) && !sameArguments(text, beside)) {
    throw new ContradictionError('a piece of a call has arguments in two members', {
      id: idIn(piece.id),
      name: wordIn(inside.name),
    })
  }
  if (isFilled(text)) return text
  if (isFilled(beside)) return beside
  const mayRepeatSchema = (text ?? beside) !== undefined
  const others = [inside, piece].flatMap((members) =>
    OTHER_NAMES.filter((name) => isGiven(members[name]) && !(mayRepeatSchema && isSchema(name, members[name]))).map(
      (name) => argumentsIn(members[name]),
    ),
  )
  return others.find(isFilled) ?? [text, beside, ...others].find(Boolean)
}

type Members = Readonly<Record<string, unknown>>

function argumentsOf(members: Members): string | undefined {
  return members.arguments === undefined ? undefined : argumentsIn(members.arguments)
}

function isFilled(text: string | undefined): text is string {
  return text !== undefined && !isEmptyInput(text)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Whether it is the schema of the tool, which a host may repeat next to the arguments. */
function isSchema(name: string, value: unknown): boolean {
  const schema = parsedJson(value) ?? value
  return name === 'parameters' && isRecord(schema) && schema.type === 'object'
}

/** Models write them in place of `arguments`. */
const OTHER_NAMES: readonly string[] = ['parameters', 'params', 'input', 'args']

/** The members of a call's `function` that are not read. They go back with it (qC59). */
export function restOf(called: unknown): Members {
  if (!isRecord(called)) return {}
  return Object.fromEntries(Object.entries(called).filter(([name, value]) => !READ.has(name) && isGiven(value)))
}

const READ: ReadonlySet<string> = new Set(['name', 'arguments', ...OTHER_NAMES])

/** Whether a piece contains nothing of a call. */
export function isEmpty({ id, name, text }: Said): boolean {
  return (id ?? name ?? text) === undefined
}

/**
 * The choices of a chunk. Some hosts send `null` among them (qC64).
 *
 * @throws {UnreadableError} It is not a list.
 */
export function choicesOf({ choices }: Pick<ChatChunk, 'choices'>): readonly ChatChoice[] {
  const list = choices ?? []
  if (!Array.isArray(list)) throw new UnreadableError()
  return list.filter(isRecord)
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
  of(choice: ChatChoice): ChatDelta {
    const { delta, message } = choice
    if (message && !hasContent(delta))
      return Object.fromEntries(Object.entries(message).filter(([name]) => !this.#told.has(name)))
    for (const [name] of contentOf(delta)) this.#told.add(name)
    return delta ?? { content: choice.text }
  }
}

/** Whether it has content besides its role. */
function hasContent(delta: ChatDelta | null | undefined): boolean {
  return contentOf(delta).length > 0
}

function contentOf(delta: ChatDelta | null | undefined): [name: string, value: unknown][] {
  return Object.entries(delta ?? {}).filter(([name, value]) => name !== 'role' && isPresent(value))
}

function isPresent(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== '' && value !== null
}

/** Whether a chunk has content besides roles. */
export function saysSomething(chunk: Pick<ChatChunk, 'choices'>): boolean {
  return choicesOf(chunk).some(({ delta, message, text }) => hasContent(delta) || hasContent(message) || !!text)
}

/**
 * The elements of a list; hosts also send a single element in place of it, an object with their places (qC66), or
 * nothing.
 */
export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (!isRecord(value)) return []
  const names = Object.keys(value)
  if (names.length === 0 || !names.every((name) => /^\d+$/.test(name))) return [value]
  return Object.entries(value).map(([index, one]): unknown => (isRecord(one) ? { index, ...one } : one))
}

/** A reason; hosts also send `""` and `"null"` before the end. */
export function reasonIn({ finish_reason: reason }: ChatChoice): string | undefined {
  return typeof reason === 'string' && reason !== '' && reason !== 'null' ? reason : undefined
}
