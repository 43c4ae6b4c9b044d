/** What a model reads of the result of a call. */

import type { ContentPart } from '@meanwhile/core'
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client'

/** The limits of a result. */
export interface ContentLimits {
  /** The most characters of one text. */
  readonly text: number
  /** The most bytes of one file. */
  readonly fileBytes: number
}

/** The parts that a model reads: the content, or, without any, the structured content. `_meta` and annotations are only in the output. */
export function partsOf({ content, structuredContent }: CallToolResult, limits: ContentLimits): readonly ContentPart[] {
  if (content.length === 0 && structuredContent !== undefined)
    return [textPart(JSON.stringify(structuredContent), limits)]
  return content.map((block) => partOf(block, limits))
}

/** The text of an error result. */
export function errorTextOf(result: CallToolResult, limits: ContentLimits): string {
  const parts = partsOf(result, limits)
  return (
    parts.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType}]`)).join('\n') || 'no reason was given'
  )
}

/** What a model reads of one block. */
export function partOf(block: ContentBlock, limits: ContentLimits): ContentPart {
  if (block.type === 'text') return textPart(block.text, limits)
  if (block.type === 'image' || block.type === 'audio') return filePart(block.mimeType, block.data, limits)
  if (block.type === 'resource_link') return textPart(`[resource ${block.uri} ${block.name}]`, limits)
  const { resource } = block
  if ('text' in resource) return textPart(resource.text, limits)
  return filePart(resource.mimeType ?? 'application/octet-stream', resource.blob, limits)
}

function textPart(text: string, { text: most }: ContentLimits): ContentPart {
  const left = text.length - most
  return { type: 'text', text: left > 0 ? `${text.slice(0, most)}\n[cut: ${left} more characters]` : text }
}

function filePart(mediaType: string, data: string, { fileBytes }: ContentLimits): ContentPart {
  const bytes = Math.floor((data.length * 3) / 4)
  if (bytes === 0) return { type: 'text', text: `[an empty file of ${mediaType}]` }
  if (bytes > fileBytes)
    return { type: 'text', text: `[a file of ${mediaType} with ${bytes} bytes, more than ${fileBytes}]` }
  return { type: 'file', mediaType, data }
}
