/**
 * Decides which URLs the provider of a model of the AI SDK reads itself. The AI SDK's own loop downloads the others; this
 * adapter does not.
 */

import type { FilePart } from '@meanwhile/core'
import type { SupportedUrls } from './ai-sdk-model.ts'

/** Whether the provider takes this file, which is given as a URL or as its data. */
export function isReadable({ mediaType, data }: FilePart, supported: SupportedUrls): boolean {
  if (typeof data === 'string') return true
  // The packages get a `URL` object, and not every text can become one.
  if (!URL.canParse(data.url)) return false
  return Object.entries(supported).some(
    // Not `test`, because a pattern with the flag `g` keeps its position.
    ([type, patterns]) => matches(type, mediaType) && patterns.some((pattern) => data.url.search(pattern) >= 0),
  )
}

function matches(type: string, mediaType: string): boolean {
  if (type === '*' || type === '*/*') return true
  const wanted = type.toLowerCase()
  return wanted.endsWith('/*')
    ? mediaType.toLowerCase().startsWith(wanted.slice(0, -1))
    : mediaType.toLowerCase() === wanted
}
