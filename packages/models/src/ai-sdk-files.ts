/** Converts a file that a model created to a part of a message. */

import type { FilePart } from '@meanwhile/core'
import type { FilePiece } from './ai-sdk-model.ts'

export function filePart({ mediaType, data }: FilePiece): FilePart {
  return { type: 'file', mediaType, data: dataOf(data) }
}

function dataOf(data: FilePiece['data']): FilePart['data'] {
  if (typeof data === 'string') return data
  if (data instanceof Uint8Array) return base64(data)
  return data.type === 'url' ? { url: data.url.href } : dataOf(data.data)
}

function base64(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}
