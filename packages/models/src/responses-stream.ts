/** Converts the stream of OpenAI's Responses API to model events. */

import type { Assembler, PartOptions, ReadChunk } from '@meanwhile/assemble'
import { allowsCalls, type FinishReason, type ModelRequest } from '@meanwhile/core'
import type OpenAI from 'openai'
import { defined } from './defined.ts'
import { StreamedError } from './explain.ts'
import { hasMembers } from './is-record.ts'
import { parallelCalls } from './parallel-calls.ts'
import { OutputCalls } from './responses-calls.ts'
import { ClientCalls } from './responses-client-calls.ts'
import {
  type CallOutput,
  type FunctionCall,
  inputOf,
  isOpaque,
  isProviderCall,
  itemIn,
  itemsIn,
  type OutputItem,
  PROVIDER_CALLS,
  type ProviderCall,
  partsOf,
  textOf,
} from './responses-content.ts'
import { type End, endOf, type Response } from './responses-end.ts'
import type { Item } from './responses-item.ts'
import { OutputItems } from './responses-items.ts'
import { usageOf } from './responses-usage.ts'
import { singleResponse } from './single-response.ts'
import { ToolNames } from './tool-names.ts'
import { argumentsIn, idIn, textIn, wordIn } from './wire-values.ts'

type StreamEvent = OpenAI.Responses.ResponseStreamEvent | Done

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
  request: Pick<ModelRequest, 'tools' | 'toolNames' | 'inputLimits'>,
): ReadChunk<StreamEvent> {
  const expand = parallelCalls(request.tools)
  const items = new OutputItems(request.inputLimits)
  const functionCalls = new OutputCalls(items, new ToolNames(request), call, request.inputLimits)
  const clientCalls = new ClientCalls()
  const ours = new Set<Item>()
  let hasSpoken = false
  let isIdentified = false
  let refused = false
  // Whether it ends incomplete before it has any item: then nothing of it starts.
  let isCut = false

  function call(item: Item, { call_id: id, name, namespace, caller }: FunctionCall, to: Assembler): void {
    if (!item.isRun) ours.add(item)
    const own = defined({ namespace, caller: caller?.type === 'direct' ? undefined : caller })
    const metadata = hasMembers(own) && { metadata: { [provider]: own } }
    // A name that may grow is not shown.
    to.call(item.label, { id, name, nameMayGrow: isCut, expand: expand(name), ...metadata })
  }

  function say(item: Item, text: string, to: Assembler): void {
    item.isFed = true
    hasSpoken ||= text !== ''
    to.text(text, item)
  }

  // Hosts that send everything at once may omit the deltas (qR10).
  function said(item: Item, text: string | undefined, to: Assembler): void {
    if (text && !item.isFed) say(item, text, to)
  }

  // The call is announced as the provider's from the start; its stream only reports that it is done.
  function run({ label }: Item, item: ProviderCall, to: Assembler): void {
    const name = item.type === 'mcp_call' ? item.name : PROVIDER_CALLS[item.type]
    to.call(label, { id: item.id, name, providerResult: null, metadata: { [provider]: { type: item.type } } })
  }

  function ran(known: Item, item: ProviderCall, to: Assembler): void {
    run(known, item, to)
    to.call(known.label, { delta: inputOf(item), providerResult: item })
    to.seal(known.label)
  }

  // The host has run one of our calls, which must not run again (qR29).
  function answered(result: CallOutput, to: Assembler): void {
    const item = items.call(result.call_id)
    if (!item || item.isHeld || item.isRun) return
    item.isRun = true
    ours.delete(item)
    to.call(item.label, { providerResult: result, metadata: { [provider]: { type: 'function_call' } } })
  }

  function done(item: Item, carried: OutputItem, to: Assembler): void {
    item.done = true
    if (carried.type === 'function_call') functionCalls.done(item, carried, to)
    else if (carried.type === 'function_call_output') answered(carried, to)
    else if (isProviderCall(carried)) ran(item, carried, to)
    else if (carried.type === 'message') {
      if (partsOf(carried).some(({ type }) => type === 'refusal')) refused = true
      said(item, textOf(carried), to)
      if (carried.phase) to.text('', marked(item, { phase: carried.phase }))
    } else if (carried.type === 'reasoning' || isOpaque(carried)) to.reasoning('', marked(item, carried))
  }

  function marked({ label }: Item, data: object): PartOptions {
    return { label, metadata: { [provider]: data } }
  }

  function identify(response: Response | undefined, to: Assembler): void {
    isIdentified = true
    to.response(defined({ id: idIn(response?.id), model: wordIn(response?.model) }))
  }

  function ended(end: End, to: Assembler): void {
    const { response } = end
    if (!isIdentified) identify(response, to)
    const output = itemsIn(response.output)
    to.usage(usageOf(response.usage))
    if (end.type === 'failed') throw new StreamedError(end.error)
    isCut = end.type === 'incomplete'
    recover(output, !isCut, to)
    for (const item of output) if (item.type === 'function_call_output') answered(item, to)
    const reason = end.type === 'completed' ? completed() : end.reason
    functionCalls.end(allowsCalls(reason), to)
    for (const item of output) clientCalls.add(item)
    clientCalls.refuse()
    if (end.type !== 'completed') to.response({ finishReason: end.word })
    to.finish(reason)
  }

  // The wire's `completed` is not a finish reason: the items show whether it called tools.
  function completed(): FinishReason {
    return refused ? 'content-filter' : ours.size > 0 ? 'tool-calls' : 'stop'
  }

  // Output that no event of its own contained (qR10).
  function recover(output: readonly OutputItem[], isComplete: boolean, to: Assembler): void {
    if (!items.none && !hasSpoken) recoverText(output, to)
    if (!items.none && isComplete) {
      for (const [place, carried] of output.entries()) {
        const known = items.known(place, carried)
        if (known?.type === 'reasoning' && !known.done) done(known, carried, to)
      }
      functionCalls.complete(output, to)
    }
    if (!items.none) return
    for (const [place, item] of output.entries()) {
      const carried: OutputItem = isComplete || item.type !== 'function_call' ? item : { ...item, status: 'incomplete' }
      done(items.whole(place, carried), carried, to)
    }
  }

  // Only if the stream had no text (qR27): otherwise an item with a new id may repeat it.
  function recoverText(output: readonly OutputItem[], to: Assembler): void {
    for (const [place, carried] of output.entries()) {
      if (carried.type !== 'message') continue
      const known = items.known(place, carried)
      done(known?.type === 'message' ? known : items.late(carried), carried, to)
    }
  }

  function added(place: unknown, carried: OutputItem, to: Assembler): void {
    clientCalls.add(carried)
    const item = items.begin(place, carried)
    if (carried.type === 'function_call') {
      functionCalls.begin(item, carried, to)
      item.given = carried.arguments
    } else if (isProviderCall(carried)) run(item, carried, to)
  }

  const read: ReadChunk<StreamEvent> = (event, to) => {
    switch (event.type) {
      case 'response.refusal.delta':
        refused = true
        return say(items.of('message', event, to), textIn(event.delta), to)
      case 'response.refusal.done':
        refused = true
        return said(items.of('message', event, to), textIn(event.refusal), to)
      case 'response.output_text.delta':
        return say(items.of('message', event, to), textIn(event.delta), to)
      case 'response.output_text.done':
        return said(items.of('message', event, to), textIn(event.text), to)
      case 'response.content_part.done': {
        const [part] = partsOf({ content: [event.part] })
        if (part?.type === 'refusal') refused = true
        return part ? said(items.of('message', event, to), textOf({ content: [part] }), to) : undefined
      }
      case 'response.function_call_arguments.delta':
        return functionCalls.add(items.of('function_call', event, to), argumentsIn(event.delta), to)
      case 'response.function_call_arguments.done':
        return functionCalls.seal(items.ending(event, to), argumentsIn(event.arguments), to)
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return to.reasoning(textIn(event.delta), items.of('reasoning', event, to))
      case 'response.reasoning_summary_part.added':
        return event.summary_index > 0 ? to.reasoning('\n\n', items.of('reasoning', event, to)) : undefined
      case 'response.output_item.added':
      case 'response.output_item.done': {
        const carried = itemIn(event.item)
        if (!carried) return
        if (event.type === 'response.output_item.added') return added(event.output_index, carried, to)
        clientCalls.add(carried)
        return done(items.whole(event.output_index, carried), carried, to)
      }
      case 'response.created':
        return identify(event.response, to)
      case 'error':
        throw new StreamedError(event)
      default: {
        const end = endOf(event)
        if (end) ended(end, to)
      }
    }
  }

  return singleResponse({ begins, idOf, isLast: isLastEvent }, read)
}

function begins(event: StreamEvent): { readonly id: string | undefined } | undefined {
  return event.type === 'response.created' && event.response ? { id: idIn(event.response.id) } : undefined
}

/** A failed response contains the reason; that counts, whatever its id. */
function idOf(event: StreamEvent): string | undefined {
  return 'response' in event && endOf(event)?.type !== 'failed' ? idIn(event.response?.id) : undefined
}

/** Whether the protocol ends with this event; a failed response is an error. */
export function isLastEvent(event: StreamEvent): boolean {
  const end = endOf(event)
  return end !== undefined && end.type !== 'failed'
}

/** `keepalive` is missing in the wire's list of events. An event without a type is none of them. */
export function isSilentEvent(event: StreamEvent | { readonly type?: 'keepalive' | 'ping' }): boolean {
  return !event.type || event.type === 'keepalive' || event.type === 'ping' || ('delta' in event && event.delta === '')
}
