/** Counts the tokens of a history, for middleware that acts when it has become too long. */

import type { Awaitable, Message } from '@meanwhile/core'

/** Returns the tokens of messages: of a whole history, or of some of its messages. */
export type CountTokens = (messages: readonly Message[]) => Awaitable<number>

/** The estimate for a file: images and documents cost by pixels and pages, not by bytes. */
const TOKENS_OF_FILE = 1_600

/**
 * Returns what the provider reported for the last response, including its output, plus a quarter of the characters of
 * all later messages; without a report, a quarter of all characters. A file counts 1,600. A report of no input, or of
 * less input than output, does not count: some hosts omit what they have cached.
 */
export function countTokens(messages: readonly Message[]): number {
  const last = messages.findLastIndex(isReported)
  const reported = messages[last]
  const usage = reported?.role === 'assistant' ? reported.usage : undefined
  let tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
  for (const message of messages.slice(last + 1)) tokens += estimate(message)
  return tokens
}

function isReported(message: Message): boolean {
  if (message.role !== 'assistant' || !message.usage?.inputTokens) return false
  const { inputTokens, outputTokens = estimate(message) } = message.usage
  return inputTokens >= outputTokens
}

/** The estimates of messages that do not change, because every step counts the whole history again. */
const estimates = new WeakMap<Message, number>()

function estimate(message: Message): number {
  const known = estimates.get(message)
  if (known !== undefined) return known
  const tokens = tokensIn(message)
  if (Object.isFrozen(message)) estimates.set(message, tokens)
  return tokens
}

function tokensIn({ content }: Message): number {
  if (typeof content === 'string') return content.length / 4
  let tokens = 0
  for (const part of content) tokens += part.type === 'file' ? TOKENS_OF_FILE : charactersOf(part) / 4
  return tokens
}

function charactersOf(part: Exclude<Message['content'], string>[number]): number {
  if (part.type === 'tool-call') return part.name.length + (JSON.stringify(part.input)?.length ?? 0)
  return part.type === 'file' ? 0 : part.text.length
}
