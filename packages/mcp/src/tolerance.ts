/**
 * Answers as many servers send them, in the form of the protocol. The client drops every other form without a word, although the call has run, and a
 * server on stdio would be waited for without end.
 */

import { isRecord } from '@meanwhile/core/calls'
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { JsonObject } from './definition.ts'
import type { Sdk } from './sdk.ts'

/** A message before the client reads it. Answers have the members of JSON-RPC 2.0, of which none is null; all other messages are as they were. */
export function readableMessage(message: unknown): unknown {
  if (Array.isArray(message)) return message.map(readableMessage)
  if (!isRecord(message) || typeof message.method === 'string') return message
  const { id, result, error } = message
  if ((typeof id !== 'number' && typeof id !== 'string') || (result === undefined && error === undefined))
    return message
  return { jsonrpc: '2.0', id, ...(isAbsent(error) ? { result: resultOf(result) } : { error: errorOf(error) }) }
}

const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null

function resultOf(result: unknown): JsonObject {
  if (isAbsent(result)) return {}
  return isRecord(result) ? withoutNulls(result) : { content: [textBlock(result)] }
}

function errorOf(error: unknown): JsonObject {
  const { code, message, data } = isRecord(error) ? error : { message: error }
  return {
    code: Number.isInteger(code) ? code : INTERNAL_ERROR,
    message: typeof message === 'string' ? message : JSON.stringify(error),
    ...(data !== undefined && { data }),
  }
}

/** JSON-RPC 2.0. */
const INTERNAL_ERROR = -32603

/** The result of a call, if the message is one, with content that the client accepts. A block in an unknown form becomes a text. */
export function withReadableContent<Message>(message: Message, sdk: Sdk): Message {
  if (!isRecord(message) || !isRecord(message.result)) return message
  const { content, structuredContent } = message.result
  if (content === undefined && structuredContent === undefined) return message
  const isStructured = structuredContent === undefined || isRecord(structuredContent)
  const given = content ?? (isStructured ? [] : [structuredContent])
  const { structuredContent: _, ...result } = message.result
  const blocks = (Array.isArray(given) ? given : [given]).map((block) => blockOf(block, sdk))
  return { ...message, result: { ...result, content: blocks, ...(isStructured && { structuredContent }) } }
}

type Block = CallToolResult['content'][number]

function blockOf(block: unknown, { isSpecType }: Sdk): Block {
  if (isSpecType.ContentBlock(block)) return block
  if (!isRecord(block)) return textBlock(block)
  const { annotations: _, _meta, ...own } = withoutNulls(block)
  const mended = { ...own, ...mediaOf(own), ...(isRecord(own.resource) && { resource: withoutNulls(own.resource) }) }
  return isSpecType.ContentBlock(mended) ? mended : textBlock(own.type === 'text' ? own.text : own)
}

/** The members of a block whose data is an address with the data in it (RFC 2397), as pages have it. */
function mediaOf({ data }: JsonObject): JsonObject {
  const [, mimeType, base64] = (typeof data === 'string' && /^data:([\w.+-]+\/[\w.+-]+);base64,(.*)$/s.exec(data)) || []
  return mimeType === undefined ? {} : { mimeType, data: base64 }
}

function textBlock(value: unknown): Block {
  return { type: 'text', text: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') }
}

function withoutNulls(value: JsonObject): JsonObject {
  if (!Object.values(value).includes(null)) return value
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null))
}
