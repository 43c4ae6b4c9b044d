/**
 * Checks files that are given as a URL. The AI SDK's own loop downloads those that a provider cannot read; this adapter
 * does not.
 */

import type { FilePart, Message } from '@meanwhile/core'
import type { SupportedUrls } from './ai-sdk-model.ts'
import { refuseFile } from './content.ts'

/** @throws {ConfigError} A user message contains a URL that the model's provider cannot read. */
export function checkUrls(messages: readonly Message[], supported: SupportedUrls): void {
  for (const { role, content } of messages) {
    if (role !== 'user' || typeof content === 'string') continue
    for (const part of content) if (part.type === 'file' && !isReadable(part, supported)) refuseFile('the model', part)
  }
}

function isReadable({ mediaType, data }: FilePart, supported: SupportedUrls): boolean {
  if (typeof data === 'string') return true
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
