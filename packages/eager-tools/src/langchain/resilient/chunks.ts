/** What the chunks of LangChain's chat models contain, whatever their provider. */

import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages'

/** The types of content blocks with text and reasoning. */
const TEXT: ReadonlySet<unknown> = new Set(['text', 'thinking', 'redacted_thinking', 'reasoning', 'reasoning_content'])
/** The members that tell why a response has ended. OpenAI Responses has a status of the whole response. */
const REASONS = ['finish_reason', 'finishReason', 'stop_reason', 'stopReason', 'done_reason', 'status']

/** The message as a chunk, without an id that LangChain has made: it is that of a run, and each attempt is one. */
export function chunkOf(message: BaseMessage): AIMessageChunk {
  const chunk = AIMessageChunk.isInstance(message) ? message : wholeChunk(message)
  if (chunk.id?.startsWith('run-')) chunk._updateId(undefined)
  return chunk
}

function wholeChunk(message: BaseMessage): AIMessageChunk {
  const { content, additional_kwargs, response_metadata, id } = message
  const chunk = new AIMessageChunk({ content, additional_kwargs, response_metadata, ...(id !== undefined && { id }) })
  return AIMessage.isInstance(message) ? withCalls(chunk, message) : chunk
}

/** The first one, with the calls and the usage of the other. */
function withCalls(chunk: AIMessageChunk, { tool_calls, usage_metadata }: AIMessage): AIMessageChunk {
  return Object.assign(chunk, tool_calls && { tool_calls }, usage_metadata && { usage_metadata })
}

/** Why the response has ended; `undefined` before that. */
export function reasonOf({ response_metadata, additional_kwargs }: AIMessageChunk): string | undefined {
  const said: unknown[] = REASONS.flatMap((name) => [response_metadata[name], additional_kwargs[name]])
  return said.find((reason) => typeof reason === 'string')
}

/** Whether it has nothing but text and reasoning, and the response goes on. */
export function isText(message: AIMessageChunk): boolean {
  const { content, tool_call_chunks: pieces = [], tool_calls: calls = [], additional_kwargs: more } = message
  if (pieces.length > 0 || calls.length > 0 || more.tool_outputs || reasonOf(message) !== undefined) return false
  return typeof content === 'string' || content.every(({ type }) => TEXT.has(type))
}

/** Whether it is something that the model has written, and not only a sign of life. */
export function isOutput(message: AIMessageChunk): boolean {
  const { content, tool_call_chunks: pieces, tool_calls: calls } = message
  const { reasoning, reasoning_content } = message.additional_kwargs
  return [content, pieces, calls].some((written) => written?.length) || Boolean(reasoning ?? reasoning_content)
}

/** The message without its text and reasoning. */
export function withoutText(message: AIMessageChunk): AIMessageChunk {
  const { content, additional_kwargs, response_metadata, tool_call_chunks = [], id } = message
  const rest = typeof content === 'string' ? '' : content.filter(({ type }) => !TEXT.has(type))
  const fields = {
    content: rest,
    additional_kwargs,
    response_metadata,
    tool_call_chunks,
    ...(id !== undefined && { id }),
  }
  return withCalls(new AIMessageChunk(fields), message)
}
