/** Limits the name, the input and the result of a call, and its progress, custom events and questions, so that events and histories can contain them. */

import { messageOf } from './errors.ts'
import { isPlain } from './json.ts'
import { DEEPEST, type Extent, extentOf, isObject, jsonText } from './json-text.ts'
import type { AssistantMessage, ContentPart, ToolCall, ToolMessage } from './message.ts'
import type { InputLimits } from './model.ts'

const LONGEST_NAME = 200

/** Returns the name, cut to 200 characters. A model may write any name, of any length. */
export function shownName(name: string): string {
  return name.slice(0, LONGEST_NAME)
}

/** Returns the call itself if it is within the limits, otherwise a frozen copy with an `inputError` that explains why it does not run. */
export function boundedCall(call: ToolCall, limits: InputLimits): ToolCall {
  const name = shownName(call.name)
  const extent = extentOfInput(call)
  const { characters, levels } = extent
  const refused = (problem: string, input = '') =>
    Object.freeze({ ...call, name, input, inputError: `arguments are ${problem}` })
  if (characters > limits.characters) return refused(`longer than ${limits.characters} characters`)
  if (levels > limits.depth) return refused(`nested deeper than ${limits.depth} levels`, jsonText(call.input, extent))
  return name === call.name ? call : Object.freeze({ ...call, name })
}

/** Returns the answer with each call within the limits; the same object if nothing changed. */
export function boundedAnswer(message: AssistantMessage, limits: InputLimits): AssistantMessage {
  const content = message.content.map((part) => (part.type === 'tool-call' ? boundedCall(part, limits) : part))
  return content.every((part, index) => part === message.content[index]) ? message : { ...message, content }
}

/** Returns what in the input of a call is not JSON, if anything. Members without a value, and numbers beyond the range of JSON, are accepted. */
export function inputProblem({ id, name, input }: ToolCall): string | undefined {
  try {
    extentOf([input], checkMembers)
    return undefined
  } catch (error) {
    return `call ${id.slice(0, LONGEST_NAME)} of ${shownName(name)}, whose input is not JSON: ${messageOf(error)}`
  }
}

/** Throws unless an object, as JSON shows it, is plain and contains no value that JSON cannot write. */
function checkMembers(shown: unknown): void {
  if (!isObject(shown)) return
  if (!isPlain(shown)) throw new TypeError('it contains an object of a class')
  for (const member of Object.values(shown) as unknown[])
    if (['bigint', 'function', 'symbol'].includes(typeof member)) throw new TypeError(`it contains a ${typeof member}`)
}

const extents = new WeakMap<ToolCall, Extent>()

/** Returns the extent of a call's input. A frozen call is measured once, because several places ask. */
function extentOfInput(call: ToolCall): Extent {
  const known = extents.get(call)
  if (known) return known
  const { input } = call
  const extent = typeof input === 'string' ? { characters: input.length, levels: 0 } : extentOf(input)
  if (Object.isFrozen(call)) extents.set(call, extent)
  return extent
}

/**
 * Limits on the result of one call: if it is larger, the model only reads that the call ran and how large it is. Progress and custom events that are
 * larger are left out, with one warning for each tool or middleware. A larger question throws `ConfigError` where it is asked; what it repeats of the
 * input of its call does not count.
 */
export interface OutputLimits {
  /** The length of what the model reads, in UTF-16 code units; a file counts with its base64 or URL. Default 4 Mi. */
  readonly characters: number
}

export const DEFAULT_OUTPUT_LIMITS: OutputLimits = { characters: 4 * 1024 * 1024 }

/** Returns the parsed JSON as the `output` of a tool message, if it is within the limits. */
export function keptJson(json: string, { levels }: Extent, limits: OutputLimits): Pick<ToolMessage, 'output'> {
  if (json.length > limits.characters || levels > DEEPEST) return {}
  return { output: JSON.parse(json) }
}

/** Returns the result if it is within the limits, otherwise a note that replaces it. An `output` that is too large or deep is left out. */
export function boundedResult(message: ToolMessage, limits: OutputLimits): ToolMessage {
  const characters = message.content.reduce((sum, part) => sum + charactersOf(part), 0)
  if (characters > limits.characters) return tooLarge(message, characters, limits)
  if (message.output === undefined || isWithin(message.output, limits.characters)) return message
  const { output: _, ...rest } = message
  return rest
}

/** Returns what the model reads instead of a result that is too large. The call counts as done: another run would give the same size. */
export function tooLarge(
  { callId, name, isError }: Pick<ToolMessage, 'callId' | 'name' | 'isError'>,
  characters: number,
  limits: OutputLimits,
): ToolMessage {
  const what = isError ? 'The call failed; its error' : 'The tool ran and finished; its result'
  const text = `${what} of ${characters} characters is not shown (limit ${limits.characters}).`
  return { role: 'tool', callId, name, content: [{ type: 'text', text }], isError: true }
}

/** Whether a value is JSON of at most this length, and not too deep. A text counts without quotes. */
export function isWithin(value: unknown, most: number): boolean {
  if (typeof value === 'string') return value.length <= most
  try {
    const { characters, levels } = extentOf(value)
    return characters <= most && levels <= DEEPEST
  } catch {
    return false
  }
}

function charactersOf(part: ContentPart): number {
  if (part.type === 'text') return part.text.length
  return typeof part.data === 'string' ? part.data.length : part.data.url.length
}
