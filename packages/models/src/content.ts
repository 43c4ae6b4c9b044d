/** What the requests of all wires make of the parts of a message. */

import type { ContentPart, FilePart, ProviderMetadata, ToolCall } from '@meanwhile/core'
import { ConfigError } from '@meanwhile/core'
import { isRecord } from './is-record.ts'

interface WithMetadata {
  readonly providerMetadata?: ProviderMetadata
}

/** What a part carries for this provider: members of its own wire, to be sent as they are. Other providers' stay out. */
export function metadataFor(provider: string, part: WithMetadata): Readonly<Record<string, unknown>> {
  const own = part.providerMetadata?.[provider]
  return isRecord(own) ? own : {}
}

/**
 * The name of a call, or of its result, as providers take it: at most 64 letters, digits, `_` and `-`. In what a model wrote, other
 * characters become `_`, a longer name is cut, and a missing one becomes `unknown`.
 */
export function nameOf({ name }: Pick<ToolCall, 'name'>): string {
  // Cut twice: first because the name may be very long, and again because a character may have been two code units.
  const short = name.slice(0, 2 * LONGEST_NAME).replaceAll(/[^\w-]/gu, '_')
  return short.slice(0, LONGEST_NAME) || 'unknown'
}

const LONGEST_NAME = 64

/** The arguments as text; those that could not be used go back as they came. */
export function argumentsOf(call: ToolCall): string {
  return call.inputError !== undefined && typeof call.input === 'string' ? call.input : JSON.stringify(call.input)
}

/** The file as a URL: its own, or one that holds its bytes. */
export function fileUrl(part: FilePart): string {
  return typeof part.data === 'string' ? `data:${part.mediaType};base64,${part.data}` : part.data.url
}

/** A file that a wire cannot carry: refused, never dropped. */
export function refuseFile(wire: string, part: FilePart): never {
  const form = typeof part.data === 'string' ? '' : ' given as a URL'
  throw new ConfigError('messages', `${wire} takes no file of type ${part.mediaType}${form}`)
}

/** The text of content that may only be text. */
export function joinText(parts: readonly ContentPart[], textOfFile: (part: FilePart) => string): string {
  return parts.map((part) => (part.type === 'text' ? part.text : textOfFile(part))).join('\n')
}
