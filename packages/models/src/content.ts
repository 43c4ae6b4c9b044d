/** Helpers for message parts that the requests of all wires share. */

import type { ContentPart, FilePart, ProviderMetadata, ToolCall } from '@meanwhile/core'
import { ConfigError } from '@meanwhile/core'
import { isRecord } from './is-record.ts'

interface WithMetadata {
  readonly providerMetadata?: ProviderMetadata
}

/**
 * A part's metadata for this provider: members of its wire, which are sent unchanged. Metadata of other providers is
 * not sent.
 */
export function metadataFor(provider: string, part: WithMetadata): Readonly<Record<string, unknown>> {
  const own = part.providerMetadata?.[provider]
  return isRecord(own) ? own : {}
}

/**
 * The name of a call or of its result as providers accept it: at most 64 letters, digits, `_` and `-`. In names written
 * by a model, other characters become `_`, a longer name is cut, and a missing name becomes `unknown`.
 */
export function nameOf({ name }: Pick<ToolCall, 'name'>): string {
  // Cut twice: first because the name may be very long, then because a character may have been two code units.
  const short = name.slice(0, 2 * LONGEST_NAME).replaceAll(/[^\w-]/gu, '_')
  return short.slice(0, LONGEST_NAME) || 'unknown'
}

const LONGEST_NAME = 64

/**
 * The arguments as an object, which most providers require. Any other value, such as arguments that are not JSON, is
 * sent as `{ arguments: … }`.
 */
export function inputOf({ input }: ToolCall): object {
  return isRecord(input) && !Array.isArray(input) ? input : { arguments: input }
}

/** The arguments as text, which is the JSON of an object. */
export function argumentsOf(call: ToolCall): string {
  return JSON.stringify(inputOf(call))
}

/** The file as a URL: its own, or a data URL. */
export function fileUrl(part: FilePart): string {
  return typeof part.data === 'string' ? `data:${part.mediaType};base64,${part.data}` : part.data.url
}

/** Throws for a file that a wire does not support, because dropping it silently would be worse. */
export function refuseFile(wire: string, part: FilePart): never {
  const form = typeof part.data === 'string' ? '' : ' given as a URL'
  throw new ConfigError('messages', `${wire} does not support files of type ${part.mediaType}${form}`)
}

/** Joins content for a field that accepts only text. */
export function joinText(parts: readonly ContentPart[], textOfFile: (part: FilePart) => string): string {
  return parts.map((part) => (part.type === 'text' ? part.text : textOfFile(part))).join('\n')
}
