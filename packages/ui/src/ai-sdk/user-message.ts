/** Converts user messages between the agent's form and the parts of a UI message. */

import type { ContentPart, FilePart, Json, UserMessage } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import type { DataUIPart, FileUIPart, TextUIPart, UIDataTypes } from 'ai'
import { storableJson } from '../body.ts'
import { fileOf } from '../page-files.ts'

export function partsOf({ content }: UserMessage): (TextUIPart | FileUIPart)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : fileUIPart(part)))
}

function fileUIPart({ mediaType, data, filename }: FilePart): FileUIPart {
  const url = typeof data === 'string' ? `data:${mediaType};base64,${data}` : data.url
  return { type: 'file', mediaType, url, ...(filename !== undefined && { filename }) }
}

/** Returns undefined if the value, which comes from outside, is not a user message, or is empty. Its files are not checked, and its data is left out. */
export function userMessageOf(message: unknown): UserMessage | undefined {
  if (!isRecord(message) || message.role !== 'user' || !Array.isArray(message.parts)) return undefined
  const parts: readonly unknown[] = message.parts
  const content = parts.filter((part) => !isDataPart(part)).map(contentPart)
  if (!content.every((part) => part !== undefined)) return undefined
  const said = content.filter((part) => part.type !== 'text' || part.text !== '')
  if (said.length === 0) return undefined
  if (said.every((part) => part.type === 'text'))
    return { role: 'user', content: said.map(({ text }) => text).join('') }
  return { role: 'user', content: said }
}

/**
 * Returns what a message of a page has for interfaces: its metadata, and its data, each part with its place. Undefined if it has neither. It is a user
 * message, as {@link userMessageOf} has found.
 *
 * @throws {MalformedBodyError} It cannot be stored as JSON.
 */
export function displayOf({ metadata: given, parts }: Readonly<Record<string, unknown>>, at: string): Json | undefined {
  const metadata = withoutQueued(given)
  const all: readonly unknown[] = Array.isArray(parts) ? parts : []
  const data = all.flatMap((part, place) =>
    isDataPart(part) ? [{ place, part: storableJson(part, `${at}.parts[${place}]`) }] : [],
  )
  if (metadata === undefined && data.length === 0) return undefined
  return {
    ...(metadata !== undefined && { metadata: storableJson(metadata, `${at}.metadata`) }),
    ...(data.length > 0 && { data }),
  }
}

/** A page may send a message as it was in the queue. */
function withoutQueued(metadata: unknown): unknown {
  if (!isRecord(metadata) || !('queued' in metadata)) return metadata
  const { queued: _, ...own } = metadata
  return Object.keys(own).length > 0 ? own : undefined
}

/** The members of a user message of a page: with what {@link displayOf} has returned. */
export function shownUserMessage(
  message: UserMessage,
  display: Json | undefined,
): { readonly metadata?: unknown; readonly parts: (TextUIPart | FileUIPart | DataUIPart<UIDataTypes>)[] } {
  const { metadata, data } = Object(display)
  const parts: (TextUIPart | FileUIPart | DataUIPart<UIDataTypes>)[] = partsOf(message)
  // `threads.send` takes any `display`.
  for (const { place, part } of Array.isArray(data) ? data.map(Object) : [])
    if (isDataPart(part)) parts.splice(place, 0, part)
  return { ...(metadata !== undefined && { metadata }), parts }
}

/** Whether a user message may have this part, which comes from outside. */
export function isUserPart(part: unknown): boolean {
  return isDataPart(part) || contentPart(part) !== undefined
}

export function isDataPart(part: unknown): part is DataUIPart<UIDataTypes> {
  return isRecord(part) && typeof part.type === 'string' && part.type.startsWith('data-')
}

function contentPart(part: unknown): ContentPart | undefined {
  if (!isRecord(part)) return undefined
  if (part.type === 'text' && typeof part.text === 'string') return { type: 'text', text: part.text }
  const { type, mediaType, url, filename } = part
  if (type !== 'file' || typeof mediaType !== 'string' || typeof url !== 'string') return undefined
  return { ...fileOf(mediaType, url), ...(typeof filename === 'string' && { filename }) }
}
