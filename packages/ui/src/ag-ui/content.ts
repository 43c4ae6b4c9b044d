/** Converts the content of messages between core's parts and AG-UI's parts. */

import type { ContentPart, FilePart } from '@meanwhile/core'
import { fileOf } from '../page-files.ts'
import type { AgUiPart } from './wire.ts'

type MediaPart = Exclude<AgUiPart, { type: 'text' }>
type Media = MediaPart['type']

const MEDIA: readonly Media[] = ['image', 'audio', 'video', 'document']

export function toAgUiParts(content: readonly ContentPart[]): AgUiPart[] {
  return content.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : toMedia(part)))
}

function toMedia({ mediaType, data }: FilePart): AgUiPart {
  const type = MEDIA.find((media) => mediaType.startsWith(`${media}/`)) ?? 'document'
  if (typeof data === 'string') return { type, source: { type: 'data', value: data, mimeType: mediaType } }
  return { type, source: { type: 'url', value: data.url, mimeType: mediaType } }
}

/**
 * Converts the content of a client's message. Returns undefined if it is not valid content, or names a file that only a provider can read. Its files
 * are not checked.
 */
export function fromAgUiContent(content: unknown): string | ContentPart[] | undefined {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  const parts = content.map(fromPart)
  return parts.every((part) => part !== undefined) ? parts : undefined
}

function fromPart(given: unknown): ContentPart | undefined {
  const { type, text, source } = Object(given)
  if (type === 'text') return typeof text === 'string' ? { type, text } : undefined
  if (type === 'binary') return fromBinary(given)
  if (!MEDIA.includes(type)) return undefined
  const {
    type: kind,
    value,
    mimeType = type === 'document' ? 'application/octet-stream' : `${type}/*`,
  } = Object(source)
  if (typeof value !== 'string' || typeof mimeType !== 'string') return undefined
  if (kind === 'data') return { type: 'file', mediaType: mimeType, data: value }
  return kind === 'url' ? fileOf(mimeType, value) : undefined
}

/** How clients before AG-UI 1.0 send a file. */
function fromBinary(given: unknown): FilePart | undefined {
  const { mimeType, data, url, filename } = Object(given)
  if (typeof mimeType !== 'string') return undefined
  const named = typeof filename === 'string' && { filename }
  if (typeof data === 'string') return { type: 'file', mediaType: mimeType, data, ...named }
  return typeof url === 'string' ? { ...fileOf(mimeType, url), ...named } : undefined
}
