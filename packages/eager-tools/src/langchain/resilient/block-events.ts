/**
 * The events of a response in content blocks: its text as it comes, and everything else when all chunks are there. The
 * events that LangChain itself makes of chunks lose calls whose index is that of the text.
 */

import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, type AIMessageChunk, type ContentBlock, type UsageMetadata } from '@langchain/core/messages'
import { reasonOf } from './chunks.ts'

type Event = ReturnType<BaseChatModel['_streamChatModelEvents']> extends AsyncGenerator<infer One> ? One : never

/** The index of the text. Reasoning that comes before it is known later. */
const TEXT = 100

export async function* blockEvents(chunks: AsyncIterable<AIMessageChunk>): AsyncGenerator<Event> {
  let all: AIMessageChunk | undefined
  let shown = ''
  for await (const chunk of chunks) {
    const { id, text } = chunk
    if (!all) yield { event: 'message-start', ...(id !== undefined && { id }) }
    all = all?.concat(chunk) ?? chunk
    if (!text) continue
    if (!shown) yield { event: 'content-block-start', index: TEXT, content: { type: 'text', text: '' } }
    shown += text
    yield { event: 'content-block-delta', index: TEXT, delta: { type: 'text-delta', text } }
  }
  if (!all) return
  const text = all.text || shown
  if (text) yield { event: 'content-block-finish', index: TEXT, content: { type: 'text', text } }
  yield* otherBlocks(all)
  yield finished(all, all.usage_metadata)
}

function finished(message: AIMessageChunk, usage: UsageMetadata | undefined): Event {
  const { response_metadata: responseMetadata } = message
  return { event: 'message-finish', reason: finishOf(message), responseMetadata, ...(usage && { usage }) }
}

/** Everything but the text: what is before it, what is after it, and the calls. */
function* otherBlocks({ content, additional_kwargs, response_metadata, tool_calls = [] }: AIMessageChunk) {
  const written = new AIMessage({ content, additional_kwargs, response_metadata, tool_calls }).contentBlocks
  const calls = tool_calls.map((call) => ({ ...call, type: 'tool_call' as const }))
  const blocks = [...written.filter(isNoCall), ...calls]
  const place = blocks.findIndex(isText)
  for (const [at, block] of blocks.entries()) {
    if (!isText(block)) yield* whole(TEXT + at - place, block)
  }
}

function* whole(index: number, content: ContentBlock): Iterable<Event> {
  yield { event: 'content-block-start', index, content }
  yield { event: 'content-block-finish', index, content }
}

/** Calls are read from the message, which has parsed them. */
function isNoCall({ type }: ContentBlock): boolean {
  return !['tool_call', 'tool_call_chunk', 'invalid_tool_call'].includes(type)
}

function isText({ type }: ContentBlock): boolean {
  return type === 'text'
}

function finishOf(message: AIMessageChunk): 'stop' | 'length' | 'tool_use' | 'content_filter' {
  switch (reasonOf(message)) {
    case 'length':
    case 'max_tokens':
    case 'incomplete':
      return 'length'
    case 'content_filter':
      return 'content_filter'
    default:
      return message.tool_calls?.length ? 'tool_use' : 'stop'
  }
}
