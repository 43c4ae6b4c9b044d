/** What is answered, as OpenAI's Responses API streams it. */

import type { Assembler, FinishReason, Label, ReadChunk, ToolDefinition, Usage } from '@meanwhile/core'
import type OpenAI from 'openai'
import { defined } from './defined.ts'
import { StreamedError } from './explain.ts'
import { parallelCalls } from './parallel-calls.ts'

type StreamEvent = OpenAI.Responses.ResponseStreamEvent
type OutputItem = OpenAI.Responses.ResponseOutputItem
type ProviderCall = Extract<OutputItem, { type: keyof typeof PROVIDER_CALLS }>
type FunctionCall = OpenAI.Responses.ResponseFunctionToolCall
type Response = OpenAI.Responses.Response

/** An output item: what tells its part, or its call, from the others. */
interface Item {
  readonly label: Label
}

/** A call is sealed by its own `done` or by its item's with status `completed`, whichever comes first (qR1, qR4). */
export function responsesReader(provider: string, tools: readonly ToolDefinition[]): ReadChunk<StreamEvent> {
  const expand = parallelCalls(tools)
  // By place in the output: hosts change an item's id from event to event, or send none (qR3).
  const items = new Map<number, Item>()
  let calls = false
  let refused = false

  function begin(index: number, item: OutputItem): Item {
    const label = ('call_id' in item && item.call_id) || item.id || index
    const known = items.get(index)
    return known?.label === label ? known : place(index, label)
  }

  function at(index: number, id: string): Item {
    return items.get(index) ?? place(index, id || index)
  }

  function place(index: number, label: Label): Item {
    const item = { label }
    items.set(index, item)
    return item
  }

  function call({ label }: Item, { call_id: id, name }: FunctionCall, to: Assembler): void {
    calls = true
    to.call(label, { id, name, expand: expand(name) })
  }

  // Whole from the start: that it is over is all its stream says of it (G16).
  function run({ label }: Item, item: ProviderCall, to: Assembler): void {
    const name = item.type === 'mcp_call' ? item.name : PROVIDER_CALLS[item.type]
    to.call(label, { id: item.id, name, providerResult: null, metadata: { [provider]: { type: item.type } } })
  }

  function ran(known: Item, item: ProviderCall, to: Assembler): void {
    run(known, item, to)
    to.call(known.label, { delta: inputOf(item), providerResult: item })
    to.seal(known.label)
  }

  function done(index: number, item: OutputItem, to: Assembler): void {
    const known = items.get(index) ?? begin(index, item)
    if (item.type === 'function_call') {
      call(known, item, to)
      if (item.status === 'completed') to.seal(known.label, item.arguments)
    } else if (isProviderCall(item)) ran(known, item, to)
    else if (item.type === 'reasoning') {
      to.reasoning('', { ...known, metadata: { [provider]: item } })
    } else if (item.type === 'message' && item.phase) {
      to.text('', { ...known, metadata: { [provider]: { phase: item.phase } } })
    }
  }

  function ended({ usage }: Response, word: string, reason: FinishReason, to: Assembler): void {
    if (usage) to.usage(usageOf(usage))
    to.response({ finishReason: word })
    to.finish(reason)
  }

  return (event, to) => {
    switch (event.type) {
      case 'response.refusal.delta':
        refused = true
        return to.text(event.delta, at(event.output_index, event.item_id))
      case 'response.output_text.delta':
        return to.text(event.delta, at(event.output_index, event.item_id))
      case 'response.function_call_arguments.delta':
        return to.call(at(event.output_index, event.item_id).label, { delta: event.delta })
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return to.reasoning(event.delta, at(event.output_index, event.item_id))
      case 'response.reasoning_summary_part.added':
        return event.summary_index > 0 ? to.reasoning('\n\n', at(event.output_index, event.item_id)) : undefined
      case 'response.function_call_arguments.done':
        return to.seal(at(event.output_index, event.item_id).label, event.arguments)
      case 'response.output_item.added': {
        const item = begin(event.output_index, event.item)
        if (event.item.type === 'function_call') call(item, event.item, to)
        else if (isProviderCall(event.item)) run(item, event.item, to)
        return
      }
      case 'response.output_item.done':
        return done(event.output_index, event.item, to)
      case 'response.created':
        return to.response(defined({ id: event.response.id, model: event.response.model }))
      case 'response.completed':
        return ended(event.response, 'completed', refused ? 'content-filter' : calls ? 'tool-calls' : 'stop', to)
      case 'response.incomplete': {
        const word = event.response.incomplete_details?.reason ?? 'incomplete'
        return ended(event.response, word, INCOMPLETE.get(word) ?? 'other', to)
      }
      case 'response.failed':
        if (event.response.usage) to.usage(usageOf(event.response.usage))
        throw new StreamedError(event.response.error ?? {})
      case 'error':
        throw new StreamedError(event)
    }
  }
}

/** `keepalive` is in no list of the wire's events. */
export function isSilentEvent(event: StreamEvent | { readonly type: 'keepalive' }): boolean {
  return event.type === 'keepalive' || ('delta' in event && event.delta === '')
}

/** The items that are calls of the provider's own tools, and the names of these. Those that its client is to run are not here. */
const PROVIDER_CALLS = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_interpreter',
  image_generation_call: 'image_generation',
  mcp_call: 'mcp',
} as const

function isProviderCall(item: OutputItem): item is ProviderCall {
  return Object.hasOwn(PROVIDER_CALLS, item.type)
}

/** What the item tells of the arguments. */
function inputOf(item: ProviderCall): string {
  if (item.type === 'mcp_call') return item.arguments
  if (item.type === 'web_search_call') return JSON.stringify(item.action ?? {})
  if (item.type === 'file_search_call') return JSON.stringify({ queries: item.queries })
  return item.type === 'code_interpreter_call' ? JSON.stringify({ code: item.code }) : ''
}

const INCOMPLETE: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content-filter'],
])

function usageOf(usage: OpenAI.Responses.ResponseUsage): Usage {
  return defined({
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheReadTokens: usage.input_tokens_details?.cached_tokens,
    cacheWriteTokens: usage.input_tokens_details?.cache_write_tokens,
    reasoningTokens: usage.output_tokens_details?.reasoning_tokens,
  })
}
