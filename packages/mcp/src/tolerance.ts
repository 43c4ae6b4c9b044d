/**
 * Answers as servers send them, in the form that the client accepts: it drops all others, although their calls have run, and on stdio it then waits
 * without end.
 */

import { isRecord } from '@meanwhile/core/calls'
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { JsonObject } from './definition.ts'
import type { Sdk } from './sdk.ts'

/** The text of a message, with an answer in the form of JSON-RPC 2.0. Only texts that look odd are parsed: most do not, and one may be very long. */
export function readableText(text: string): string {
  if (text.includes('"jsonrpc"') && !ODD.test(text)) return text
  try {
    const message: unknown = JSON.parse(text)
    const readable = readableMessage(message)
    return readable === message ? text : JSON.stringify(readable)
  } catch {
    return text
  }
}

const ODD = /"error"\s*:|"(?:_meta|isError)"\s*:\s*null|"result"\s*:\s*[^\s{]/

/** The message, with an answer in the form of JSON-RPC 2.0, in which no member is null. All other messages are as they were. */
export function readableMessage(message: unknown): unknown {
  if (Array.isArray(message)) {
    const messages = message.map(readableMessage)
    return messages.some((one, index) => one !== message[index]) ? messages : message
  }
  if (!isRecord(message) || !isAnswer(message) || isReadable(message)) return message
  const { id, result, error } = message
  return { jsonrpc: '2.0', id, ...(isAbsent(error) ? { result: resultOf(result) } : { error: errorOf(error) }) }
}

function isAnswer({ id, method, result, error }: JsonObject): boolean {
  if (typeof method === 'string' || (typeof id !== 'number' && typeof id !== 'string')) return false
  return result !== undefined || error !== undefined
}

function isReadable({ jsonrpc, result, error }: JsonObject): boolean {
  if (jsonrpc !== '2.0') return false
  if (error === undefined) return isRecord(result) && !hasNulls(result)
  return result === undefined && isRecord(error) && Number.isInteger(error.code) && typeof error.message === 'string'
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

/** The answer of a call, with content that the client accepts. A block in an unknown form becomes a text. */
export function withReadableContent<Message>(message: Message, sdk: Sdk, era: string | undefined): Message {
  if (!isRecord(message) || !isRecord(message.result)) return message
  const { content = [], ...result } = withoutNulls(message.result)
  const { structuredContent, ...plain } = result
  if (!('content' in message.result) && structuredContent === undefined) return message
  const blocks = (Array.isArray(content) ? content : [content]).map((block) => blockOf(block, sdk))
  if (era === 'modern' || structuredContent === undefined || isRecord(structuredContent))
    return { ...message, result: { ...result, content: blocks } }
  // In the protocol of 2025 structured content is an object.
  return { ...message, result: { ...plain, content: blocks.length > 0 ? blocks : [textBlock(structuredContent)] } }
}

type Block = CallToolResult['content'][number]

function blockOf(block: unknown, { isSpecType }: Sdk): Block {
  if (isSpecType.ContentBlock(block)) return block
  if (!isRecord(block)) return textBlock(block)
  const { annotations: _, _meta: __, ...own } = withoutNulls(block)
  const mended = { ...own, ...mediaOf(own), ...(isRecord(own.resource) && { resource: withoutNulls(own.resource) }) }
  if (isSpecType.ContentBlock(mended)) return mended
  return textBlock(own.type === 'text' ? own.text : withoutData(own))
}

/** The members of a block whose data is an address with the data in it (RFC 2397), as pages have it. */
function mediaOf({ data }: JsonObject): JsonObject {
  const [, mimeType, base64] = (typeof data === 'string' && /^data:([\w.+-]+\/[\w.+-]+);base64,(.*)$/s.exec(data)) || []
  return mimeType === undefined ? {} : { mimeType, data: base64 }
}

/** Without the bytes of a file, which a model cannot read as a text. */
function withoutData(block: JsonObject): JsonObject {
  const { data: _, blob: __, resource, ...told } = block
  return { ...told, ...(resource !== undefined && { resource: isRecord(resource) ? withoutData(resource) : resource }) }
}

function textBlock(value: unknown): Block {
  return { type: 'text', text: typeof value === 'string' ? value : (JSON.stringify(value) ?? '') }
}

function hasNulls(value: JsonObject): boolean {
  return Object.values(value).includes(null)
}

function withoutNulls(value: JsonObject): JsonObject {
  return hasNulls(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null)) : value
}
