/** Converts the stream of OpenAI's Responses API to model events. */

import type { Assembler, FinishReason, ModelRequest, PartOptions, ReadChunk } from '@meanwhile/core'
import type OpenAI from 'openai'
import { defined } from './defined.ts'
import { StreamedError } from './explain.ts'
import { parallelCalls } from './parallel-calls.ts'
import { OutputCalls } from './responses-calls.ts'
import { ClientCalls } from './responses-client-calls.ts'
import {
  type FunctionCall,
  inputOf,
  isOpaque,
  isProviderCall,
  type OutputItem,
  PROVIDER_CALLS,
  type ProviderCall,
  textOf,
} from './responses-content.ts'
import { type Item, OutputItems } from './responses-items.ts'
import { usageOf } from './responses-usage.ts'
import { singleResponse } from './single-response.ts'
import { ToolNames } from './tool-names.ts'

type StreamEvent = OpenAI.Responses.ResponseStreamEvent | Done
type Response = OpenAI.Responses.Response

/** Missing in the wire's list of events: the end of the response, however it ended (qR12). */
interface Done {
  readonly type: 'response.done'
  readonly response: Response
}

/**
 * {@link OutputItems} identifies the items, and {@link OutputCalls} reports the calls among them. A call that the
 * client must run is an error, thrown at the end when the usage is known (qR13).
 */
export function responsesReader(
  provider: string,
  request: Pick<ModelRequest, 'tools' | 'toolNames'>,
): ReadChunk<StreamEvent> {
  const expand = parallelCalls(request.tools)
  const items = new OutputItems()
  const functionCalls = new OutputCalls(items, new ToolNames(request), call)
  const clientCalls = new ClientCalls()
  let calls = false
  let refused = false

  function call({ label }: Item, { call_id: id, name, namespace, caller }: FunctionCall, to: Assembler): void {
    calls = true
    const own = defined({ namespace, caller: caller?.type === 'direct' ? undefined : caller })
    const isPlain = Object.keys(own).length === 0
    to.call(label, { id, name, expand: expand(name), ...(!isPlain && { metadata: { [provider]: own } }) })
  }

  function say(item: Item, text: string, to: Assembler): void {
    item.told = true
    to.text(text, item)
  }

  // Hosts that send everything at once may omit the deltas (qR10).
  function said(item: Item, text: string | undefined, to: Assembler): void {
    if (text && !item.told) say(item, text, to)
  }

  // The call is announced as the provider's from the start; its stream only reports that it is done (G16).
  function run({ label }: Item, item: ProviderCall, to: Assembler): void {
    const name = item.type === 'mcp_call' ? item.name : PROVIDER_CALLS[item.type]
    to.call(label, { id: item.id, name, providerResult: null, metadata: { [provider]: { type: item.type } } })
  }

  function ran(known: Item, item: ProviderCall, to: Assembler): void {
    run(known, item, to)
    to.call(known.label, { delta: inputOf(item), providerResult: item })
    to.seal(known.label)
  }

  function done(item: Item, carried: OutputItem, to: Assembler): void {
    item.done = true
    if (carried.type === 'function_call') functionCalls.done(item, carried, to)
    else if (isProviderCall(carried)) ran(item, carried, to)
    else if (carried.type === 'message') {
      for (const { type } of carried.content ?? []) if (type === 'refusal') refused = true
      said(item, textOf(carried), to)
      if (carried.phase) to.text('', marked(item, { phase: carried.phase }))
    } else if (carried.type === 'reasoning' || isOpaque(carried)) to.reasoning('', marked(item, carried))
  }

  function marked({ label }: Item, data: object): PartOptions {
    return { label, metadata: { [provider]: data } }
  }

  function ended(response: Response, status: string, to: Assembler): void {
    if (response.usage) to.usage(usageOf(response.usage))
    if (status === 'failed' || status === 'cancelled') throw new StreamedError(response.error ?? {})
    if (status === 'completed') recover(response.output ?? [], to)
    functionCalls.end(to)
    for (const item of response.output ?? []) clientCalls.add(item)
    clientCalls.refuse()
    // The wire's `completed` is not a finish reason: the items show whether it called tools.
    if (status === 'completed') to.finish(completed())
    else {
      const word = status === 'incomplete' ? (response.incomplete_details?.reason ?? status) : status
      to.response({ finishReason: word })
      to.finish(INCOMPLETE.get(word) ?? 'other')
    }
  }

  function completed(): FinishReason {
    return refused ? 'content-filter' : calls ? 'tool-calls' : 'stop'
  }

  // Output that no event of its own contained (qR10).
  function recover(output: readonly OutputItem[], to: Assembler): void {
    if (items.none) for (const [place, carried] of output.entries()) done(items.whole(place, carried), carried, to)
    else functionCalls.complete(output, to)
  }

  return singleResponse({ begins, idOf, isLast: isLastEvent }, (event, to) => {
    switch (event.type) {
      case 'response.refusal.delta':
        refused = true
        return say(items.of('message', event), event.delta, to)
      case 'response.refusal.done':
        refused = true
        return said(items.of('message', event), event.refusal, to)
      case 'response.output_text.delta':
        return say(items.of('message', event), event.delta, to)
      case 'response.output_text.done':
        return said(items.of('message', event), event.text, to)
      case 'response.function_call_arguments.delta':
        return functionCalls.add(items.of('function_call', event), event.delta, to)
      case 'response.function_call_arguments.done':
        return functionCalls.seal(items.ending(event), event.arguments, to)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return to.reasoning(event.delta, items.of('reasoning', event))
      case 'response.reasoning_summary_part.added':
        return event.summary_index > 0 ? to.reasoning('\n\n', items.of('reasoning', event)) : undefined
      case 'response.output_item.added': {
        clientCalls.add(event.item)
        const item = items.begin(event.output_index, event.item)
        if (event.item.type === 'function_call') {
          functionCalls.begin(item, event.item, to)
          item.given = event.item.arguments
        } else if (isProviderCall(event.item)) run(item, event.item, to)
        return
      }
      case 'response.output_item.done':
        clientCalls.add(event.item)
        return done(items.whole(event.output_index, event.item), event.item, to)
      case 'response.created':
        return to.response(defined({ id: event.response.id, model: event.response.model }))
      case 'response.completed':
        return ended(event.response, 'completed', to)
      case 'response.incomplete':
        return ended(event.response, 'incomplete', to)
      case 'response.failed':
        return ended(event.response, 'failed', to)
      case 'response.done':
        return ended(event.response, event.response.status ?? 'completed', to)
      case 'error':
        throw new StreamedError(event)
    }
  })
}

function begins(event: StreamEvent): Response | undefined {
  return event.type === 'response.created' ? event.response : undefined
}

/** A failed response contains the reason; that counts, whatever its id. */
function idOf(event: StreamEvent): string | undefined {
  return 'response' in event && event.type !== 'response.failed' ? event.response?.id : undefined
}

/** Whether the protocol ends with this event; `response.failed` is an error. */
export function isLastEvent({ type }: StreamEvent): boolean {
  return type === 'response.completed' || type === 'response.incomplete' || type === 'response.done'
}

/** `keepalive` is missing in the wire's list of events. */
export function isSilentEvent(event: StreamEvent | { readonly type: 'keepalive' }): boolean {
  return event.type === 'keepalive' || ('delta' in event && event.delta === '')
}

const INCOMPLETE: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content-filter'],
])
