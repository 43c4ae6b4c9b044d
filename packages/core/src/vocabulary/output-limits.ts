/** Limits the size of a call's result after its wraps, and of what readers get besides: progress, custom events and questions. */

import { DEEPEST, type Extent, extentOf } from './json-text.ts'
import type { ContentPart, ToolMessage } from './message.ts'

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
