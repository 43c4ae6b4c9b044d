/** How many tokens a history is: for what acts when it has grown too long. */

import type { Awaitable, Message } from '@meanwhile/core'

/** Gives the tokens of messages; of a whole history, or of some of its messages alone. */
export type CountTokens = (messages: readonly Message[]) => Awaitable<number>

/** What a file counts: images and documents cost by their size in pixels and pages, not by their bytes. */
const TOKENS_OF_FILE = 1_600

/**
 * What the provider reported for the last response, its own tokens included, and a quarter of the characters of what came after it;
 * of all if nothing was reported. A file counts 1,600.
 */
export function countTokens(messages: readonly Message[]): number {
  const last = messages.findLastIndex(
    (message) => message.role === 'assistant' && message.usage?.inputTokens !== undefined,
  )
  const reported = messages[last]
  const usage = reported?.role === 'assistant' ? reported.usage : undefined
  let tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
  for (const message of messages.slice(last + 1)) tokens += estimate(message)
  return tokens
}

function estimate({ content }: Message): number {
  if (typeof content === 'string') return content.length / 4
  let tokens = 0
  for (const part of content) tokens += part.type === 'file' ? TOKENS_OF_FILE : charactersOf(part) / 4
  return tokens
}

function charactersOf(part: Exclude<Message['content'], string>[number]): number {
  if (part.type === 'tool-call') return part.name.length + (JSON.stringify(part.input)?.length ?? 0)
  return part.type === 'file' ? 0 : part.text.length
}
