/** The output items of OpenAI's Responses API, and the members that are read. */

import type OpenAI from 'openai'
import { isRecord } from './is-record.ts'
import { argumentsIn, idIn, textIn } from './wire-values.ts'

export type OutputItem = OpenAI.Responses.ResponseOutputItem
export type FunctionCall = OpenAI.Responses.ResponseFunctionToolCall
/** The result of a function call that the host has run. */
export type CallOutput = Extract<OutputItem, { type: 'function_call_output' }>
export type ProviderCall = Extract<OutputItem, { type: keyof typeof PROVIDER_CALLS }>

/**
 * The items that are calls of the provider's own tools, with the names of these tools. For calls that the client must
 * run, see `ClientCalls`.
 */
export const PROVIDER_CALLS = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_interpreter',
  image_generation_call: 'image_generation',
  mcp_call: 'mcp',
} as const

export function isProviderCall(item: OutputItem): item is ProviderCall {
  return Object.hasOwn(PROVIDER_CALLS, item.type)
}

/** The arguments in the item. */
export function inputOf(item: ProviderCall): string {
  if (item.type === 'mcp_call') return item.arguments
  if (item.type === 'web_search_call') return JSON.stringify(item.action ?? {})
  if (item.type === 'file_search_call') return JSON.stringify({ queries: item.queries })
  return item.type === 'code_interpreter_call' ? JSON.stringify({ code: item.code }) : ''
}

/**
 * The item, if the event has one. The arguments and the id of a function call are text then, whatever the host sent
 * (qR22). An empty id stands for `null` and `"null"`.
 */
export function itemIn(value: unknown): OutputItem | undefined {
  if (!isRecord(value)) return undefined
  // A host's item; readers handle missing members.
  const item = value as object as OutputItem
  if (item.type !== 'function_call') return item
  return { ...item, call_id: idIn(item.call_id) ?? '', arguments: argumentsIn(item.arguments) }
}

/** The items of an output. */
export function itemsIn(output: unknown): readonly OutputItem[] {
  return Array.isArray(output) ? output.flatMap((value) => itemIn(value) ?? []) : []
}

/** The parts of a message that are words. */
export function partsOf({ content }: { readonly content?: unknown }): readonly MessagePart[] {
  return Array.isArray(content) ? content.filter(isMessagePart) : []
}

type MessagePart = OpenAI.Responses.ResponseOutputMessage['content'][number]

function isMessagePart(part: unknown): part is MessagePart {
  return isRecord(part) && part.type !== 'reasoning_text'
}

/** The whole text of a message. */
export function textOf(message: { readonly content?: unknown }): string {
  return partsOf(message)
    .map((part) => textIn(part.type === 'refusal' ? part.refusal : part.text))
    .join('')
}

const OPAQUE: ReadonlySet<string> = new Set<OutputItem['type']>([
  'additional_tools',
  'compaction',
  'mcp_list_tools',
  'program',
  'program_output',
  'tool_search_call',
  'tool_search_output',
])

/**
 * Whether the item is not interpreted and is sent back unchanged. A tool search that the client must make is not one of
 * these.
 */
export function isOpaque(item: { readonly type?: unknown; readonly execution?: unknown }): boolean {
  return typeof item.type === 'string' && OPAQUE.has(item.type) && item.execution !== 'client'
}
