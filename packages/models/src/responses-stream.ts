/** What is answered, as OpenAI's Responses API streams it. */

import type { Assembler, FinishReason, ModelRequest, PartOptions, ReadChunk } from '@meanwhile/core'
import type OpenAI from 'openai'
import { defined } from './defined.ts'
import { isEmptyInput } from './empty-input.ts'
import { StreamedError, UnreadableError } from './explain.ts'
import { parallelCalls } from './parallel-calls.ts'
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

/** In no list of the wire's events: the end of the response, however it ended (qR12). */
interface Done {
  readonly type: 'response.done'
  readonly response: Response
}

/**
 * A call is sealed by its own `done` or by its item's with status `completed`, whichever comes first (qR1, qR4), unless nothing was
 * said of its arguments: what was cut off may be over, too (qR8). A call that the client is to run is an error, once all is said and
 * its usage known (qR13).
 */
export function responsesReader(
  provider: string,
  request: Pick<ModelRequest, 'tools' | 'toolNames'>,
): ReadChunk<StreamEvent> {
  const expand = parallelCalls(request.tools)
  const names = new ToolNames(request)
  const items = new OutputItems()
  const clientCalls = new ClientCalls()
  let calls = false
  let refused = false

  function call({ label }: Item, { call_id: id, name, namespace, caller }: FunctionCall, to: Assembler): void {
    calls = true
    const own = defined({ namespace, caller: caller?.type === 'direct' ? undefined : caller })
    const isPlain = Object.keys(own).length === 0
    to.call(label, { id, name, expand: expand(name), ...(!isPlain && { metadata: { [provider]: own } }) })
  }

  function seal(item: Item, text: string, to: Assembler): void {
    item.ended = true
    if (!text && !item.told) return
    // What came in pieces stands against nothing (qR11).
    to.seal(item.label, item.told && isEmptyInput(text) ? undefined : text)
    item.told = true
  }

  // Not every host says of a call that it is completed (qR9): then the end of the response does.
  function called(item: Item, carried: FunctionCall, to: Assembler): void {
    call(item, carried, to)
    if (carried.status === 'completed') seal(item, carried.arguments, to)
    else if (carried.arguments && !item.told) {
      item.told = true
      to.call(item.label, { delta: carried.arguments })
    }
  }

  /** A gateway may announce only the first piece of a name, and that may be another tool's name; the finished item has it all (qC47). */
  function checkName({ name = '' }: Item, carried: FunctionCall): void {
    const isCut = name !== carried.name && names.has(name) && names.has(carried.name) && carried.name.startsWith(name)
    if (isCut) throw new UnreadableError({ said: `a call of ${name} is one of ${carried.name} when it is done` })
  }

  function say(item: Item, text: string, to: Assembler): void {
    item.told = true
    to.text(text, item)
  }

  // Hosts that have all of it at once may leave the deltas out (qR10).
  function said(item: Item, text: string | undefined, to: Assembler): void {
    if (text && !item.told) say(item, text, to)
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

  function done(item: Item, carried: OutputItem, to: Assembler): void {
    item.done = true
    if (carried.type === 'function_call') {
      checkName(item, carried)
      called(item, carried, to)
    } else if (isProviderCall(carried)) ran(item, carried, to)
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
    for (const item of response.output ?? []) clientCalls.add(item)
    clientCalls.refuse()
    // The wire's `completed` is no finish reason: the items say whether it called tools.
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

  // What no event of its own told (qR10).
  function recover(output: readonly OutputItem[], to: Assembler): void {
    const all = items.none
    for (const [place, carried] of output.entries()) {
      const known = carried.type === 'function_call' ? items.known(place, carried) : undefined
      if (all) done(items.whole(place, carried), carried, to)
      else if (known?.told === false) done(known, carried, to)
    }
    for (const { label, given } of items.untold) to.call(label, { delta: given })
  }

  return singleResponse({ begins, isLast: isLastEvent }, (event, to) => {
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
      case 'response.function_call_arguments.delta': {
        const item = items.of('function_call', event)
        if (event.delta) item.told = true
        return to.call(item.label, { delta: event.delta })
      }
      case 'response.function_call_arguments.done':
        return seal(items.ending(event), event.arguments, to)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return to.reasoning(event.delta, items.of('reasoning', event))
      case 'response.reasoning_summary_part.added':
        return event.summary_index > 0 ? to.reasoning('\n\n', items.of('reasoning', event)) : undefined
      case 'response.output_item.added': {
        clientCalls.add(event.item)
        const item = items.begin(event.output_index, event.item)
        if (event.item.type === 'function_call') {
          call(item, event.item, to)
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

/** Whether the protocol ends with this event; `response.failed` is an error. */
export function isLastEvent({ type }: StreamEvent): boolean {
  return type === 'response.completed' || type === 'response.incomplete' || type === 'response.done'
}

/** `keepalive` is in no list of the wire's events. */
export function isSilentEvent(event: StreamEvent | { readonly type: 'keepalive' }): boolean {
  return event.type === 'keepalive' || ('delta' in event && event.delta === '')
}

const INCOMPLETE: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'length'],
  ['content_filter', 'content-filter'],
])
