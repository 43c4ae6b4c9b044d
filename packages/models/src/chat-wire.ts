/** The wire of OpenAI's Chat Completions, for a loop that uses its own client. */

import type { Wire } from '@meanwhile/assemble'
import { DEFAULT_INPUT_LIMITS } from '@meanwhile/core'
import type OpenAI from 'openai'
import { chatMessages } from './chat-request.ts'
import { chatReader } from './chat-stream.ts'
import { explain, readSafely } from './explain.ts'
import { targetOf, UNKNOWN } from './families.ts'
import { refuseMissingCalls } from './missing-calls.ts'
import { providerOf, type WireOptions } from './wire-options.ts'

/** Reads the chunks of `client.chat.completions.create({ stream: true })`. `provider`: as in `openai`. */
export function chatWire(
  options: WireOptions = {},
): Wire<OpenAI.ChatCompletionChunk, OpenAI.ChatCompletionMessageParam> {
  const provider = providerOf('chatWire', options, 'openai')
  const target = targetOf('openai-chat', { provider, id: '', server: UNKNOWN })
  return {
    provider,
    reader: (request) =>
      readSafely(refuseMissingCalls(chatReader(provider, { ...request, inputLimits: DEFAULT_INPUT_LIMITS }))),
    explain,
    items: (messages) => chatMessages(messages, target),
  }
}
