/**
 * Converts the content that differs between versions of the AI SDK's specification: files, and parts that only their
 * provider understands.
 */

import type { FilePart, ProviderMetadata } from '@meanwhile/core'
import { optionsOf } from './ai-sdk-kept.ts'
import type { V2, V3, V4, Version } from './ai-sdk-model.ts'
import { refuseFile } from './content.ts'
import { defined } from './defined.ts'

export interface Dialect<V extends Version> {
  file(part: FilePart): V['file']
  /** A file in the result of a tool. */
  resultFile(part: FilePart): V['resultFile']
  custom?(kind: `${string}.${string}`, metadata: ProviderMetadata | undefined): V['custom']
}

export const v2: Dialect<V2> = {
  file: untaggedFile,
  resultFile(part) {
    if (typeof part.data !== 'string') return refuseFile('a tool result in AI SDK 5', part)
    return { type: 'media', data: part.data, mediaType: part.mediaType }
  },
}

export const v3: Dialect<V3> = {
  file: untaggedFile,
  resultFile({ data, mediaType, filename, providerMetadata }) {
    const isImage = mediaType.startsWith('image/')
    const options = optionsOf(providerMetadata)
    if (typeof data !== 'string') return { type: isImage ? 'image-url' : 'file-url', url: data.url, ...options }
    if (isImage) return { type: 'image-data', data, mediaType, ...options }
    return { type: 'file-data', data, mediaType, ...defined({ filename }), ...options }
  },
}

export const v4: Dialect<V4> = {
  file: taggedFile,
  resultFile: taggedFile,
  custom: (kind, metadata) => ({ type: 'custom', kind, ...optionsOf(metadata) }),
}

function untaggedFile({ data, mediaType, filename, providerMetadata }: FilePart): V2['file'] {
  const content = typeof data === 'string' ? data : new URL(data.url)
  return { type: 'file', data: content, mediaType, ...defined({ filename }), ...optionsOf(providerMetadata) }
}

function taggedFile({ data, mediaType, filename, providerMetadata }: FilePart): V4['file'] {
  return {
    type: 'file',
    data: typeof data === 'string' ? { type: 'data', data } : { type: 'url', url: new URL(data.url) },
    mediaType,
    ...defined({ filename }),
    ...optionsOf(providerMetadata),
  }
}
