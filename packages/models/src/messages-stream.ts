/** Converts the stream of Anthropic's Messages API to model events. */

import type Anthropic from '@anthropic-ai/sdk'
import type { Assembler, Label, ReadChunk } from '@meanwhile/assemble'
import { allowsCalls, type ModelRequest } from '@meanwhile/core'
import { defined } from './defined.ts'
import { isEmptyInput } from './empty-input.ts'
import { ContradictionError } from './explain.ts'
import { ownerless } from './held-text.ts'
import { hasMembers, isRecord } from './is-record.ts'
import { type BlockCall, callOf } from './messages-call.ts'
import { BlockCalls, type Place } from './messages-calls.ts'
import {
  type Content,
  type Delta,
  deltaIn,
  isOpaque,
  type OpaqueContent,
  type OwnCall,
  type ProviderCall,
  type ProviderResult,
} from './messages-content.ts'
import { type Counts, usageOf } from './messages-usage.ts'
import { singleResponse } from './single-response.ts'
import { StopReason } from './stop-reason.ts'
import { argumentsIn, idIn, placeIn, textIn, wordIn } from './wire-values.ts'

/** A host that does not stream sends the whole message. */
type StreamEvent = Anthropic.RawMessageStreamEvent | Anthropic.Message

/** A block of the response. Events with its label belong to one part or one call. */
interface Block {
  readonly label: number
  readonly type: string
  /** Only if the block is a call. */
  readonly call?: BlockCall
  citations?: object[]
  opaque?: object
}

/** Blocks that have no input. Those of unknown types may have one, which is not read (qA1). */
const WITHOUT_INPUT: ReadonlySet<string> = new Set(['text', 'thinking', 'redacted_thinking'])

/** Reads the events. Only `message_stop` ends the response (qA7). */
export function messagesReader(
  provider: string,
  { inputLimits }: Pick<ModelRequest, 'inputLimits'>,
): ReadChunk<StreamEvent> {
  let begun = 0
  const blocks = new Map<Place, Block>()
  const calls = new BlockCalls(inputLimits)
  // The calls that the provider runs, by id. They are sealed with their results, which are separate blocks.
  const running = new Map<string, Label>()
  let counts: Counts = {}
  let given: unknown
  const stopped = new StopReason()

  /** A start event begins a new block, even at an index that is in use (qA9). */
  function begin(place: Place, type: string): Block {
    const block: Block = { label: begun++, type }
    blocks.set(place, block)
    return block
  }

  function start(place: Place, content: Content, to: Assembler): void {
    if (content.type === 'tool_use') call(place, content, to)
    else if ('tool_use_id' in content) end(begin(place, content.type), content, to)
    else if (!isOpaque(content) && 'input' in content) run(place, content, to)
    else open(begin(place, content.type), content, to)
  }

  function open(block: Block, content: Exclude<Content, { input: unknown } | ProviderResult>, to: Assembler): void {
    if (content.type === 'text') to.text(textIn(content.text), block)
    else if (content.type === 'thinking') {
      to.reasoning(textIn(content.thinking), block)
      if (content.signature) mark(block, { signature: content.signature }, to)
    } else if (content.type === 'redacted_thinking') mark(block, { data: content.data }, to)
    else if (isOpaque(content)) {
      if (content.type === 'fallback') takeOver(content, to)
      keep(block, content, to)
    }
  }

  function call(place: Place, content: OwnCall, to: Assembler): void {
    const id = idIn(content.id)
    const { name, caller, toolset_name } = content
    const known = blocks.get(place)?.call
    if (known && !known.ended && known.id === id && (known.name || name) === name) {
      // The same call starts again (qA14).
      known.name = name
      if (!known.isHeld) to.call(known.label, { name })
      return
    }
    checkStart(known, name, to)
    const own = defined({ caller: caller?.type === 'direct' ? undefined : caller, toolset_name })
    const begun = opened(place, content)
    const metadata = hasMembers(own) && { metadata: { [provider]: own } }
    // The name may come later.
    calls.begin(place, begun, (reader) => reader.call(begun.label, { id, name: begun.name, ...metadata }), to)
  }

  /**
   * Throws if another call starts in place of an open one without its input, because it cannot be decided whether it is
   * the same call (qA15).
   */
  function checkStart(open: BlockCall | undefined, name: string, to: Assembler): void {
    if (!open || open.ended || to.isWhole(open.label) || !isEmptyInput(open.given)) return
    throw new ContradictionError(`the call that started as ${open.name} started again as ${name} before it ended`, open)
  }

  function opened(place: Place, content: OwnCall | ProviderCall): BlockCall {
    const label = begun++
    const call = callOf(label, content, inputLimits)
    blocks.set(place, { label, type: content.type, call })
    return call
  }

  function run(place: Place, content: ProviderCall, to: Assembler): void {
    const { id, name, input: _, ...rest } = content
    const call = opened(place, content)
    running.set(id, call.label)
    const piece = { id, name, providerResult: null, metadata: { [provider]: rest } }
    calls.begin(place, call, (reader) => reader.call(call.label, piece), to)
  }

  function end(block: Block, result: ProviderResult, to: Assembler): void {
    const call = running.get(result.tool_use_id)
    // The call is in an earlier message (`pause_turn`): the block is sent back unchanged.
    if (call === undefined) keep(block, result, to)
    else {
      to.call(call, { providerResult: result })
      to.seal(call)
    }
  }

  /** Discards the calls of the model that refused, even if they are sealed (qA11). */
  function takeOver({ to: next }: OpaqueContent, to: Assembler): void {
    calls.withdraw(to)
    to.response(defined({ model: next?.model }))
  }

  function delta(place: Place, value: unknown, to: Assembler): void {
    if (!isRecord(value)) return
    // A piece of an input is one under any type: otherwise the call would run without it (qA23).
    if ('partial_json' in value) addInput(place, argumentsIn(value.partial_json), to)
    else add(place, deltaIn(value), to)
  }

  function add(place: Place, delta: Exclude<Delta, Anthropic.InputJSONDelta> | undefined, to: Assembler): void {
    if (!delta) return
    // Its start may be missing (qA8).
    const block = blocks.get(place) ?? begin(place, delta.type === 'text_delta' ? 'text' : 'thinking')
    if (delta.type === 'text_delta') to.text(textIn(delta.text), block)
    else if (delta.type === 'thinking_delta') to.reasoning(textIn(delta.thinking), block)
    else if (delta.type === 'signature_delta') mark(block, { signature: delta.signature }, to)
    else if (delta.type === 'citations_delta') (block.citations ??= []).push(delta.citation)
    else keep(block, { ...block.opaque, ...delta, type: 'compaction' }, to)
  }

  function addInput(place: Place, piece: string, to: Assembler): void {
    const block = blocks.get(place)
    if (block?.call) calls.add(block.call, piece, to)
    else if (!block && piece) calls.stray(place, piece, to)
    else if (piece && block && WITHOUT_INPUT.has(block.type)) throw ownerless()
  }

  function stop(place: Place, to: Assembler): void {
    const block = blocks.get(place)
    if (!block) return
    const { label, call, citations } = block
    if (citations) to.text('', { label, metadata: { [provider]: { citations } } })
    if (call) calls.end(call, to)
  }

  function keep(block: Block, content: object, to: Assembler): void {
    block.opaque = content
    mark(block, { block: content }, to)
  }

  function mark({ label }: Block, data: object, to: Assembler): void {
    to.reasoning('', { label, metadata: { [provider]: data } })
  }

  function count(usage: Counts | null | undefined, to: Assembler): void {
    if (!usage) return
    counts = { ...counts, ...defined(usage) }
    to.usage(usageOf(counts))
  }

  /** Content that came with the start of the message, unless the blocks contain it (qA24). */
  function addGiven(to: Assembler): void {
    const types = new Set([...blocks.values()].map(({ type }) => type))
    for (const [n, content] of (Array.isArray(given) ? given : []).entries()) {
      if (!isRecord(content) || (content.type !== 'tool_use' && types.has(textIn(content.type)))) continue
      // No event has such an index.
      const place = -1 - n
      start(place, content as object as Content, to)
      stop(place, to)
    }
  }

  function finish(to: Assembler): void {
    addGiven(to)
    calls.finish(allowsCalls(stopped.reason), to)
    to.response(defined({ finishReason: stopped.word }))
    to.finish(stopped.reason)
  }

  const read: ReadChunk<StreamEvent> = (event, to) => {
    switch (event.type) {
      case 'message_start':
        given = event.message?.content
        to.response(defined({ id: idIn(event.message?.id), model: event.message?.model }))
        return count(event.message?.usage, to)
      case 'content_block_start':
        // Without a content it is a block of an unknown type.
        return isRecord(event.content_block)
          ? start(placeIn(event.index), event.content_block, to)
          : void begin(placeIn(event.index), '')
      case 'content_block_delta':
        return delta(placeIn(event.index), event.delta, to)
      case 'content_block_stop':
        return stop(placeIn(event.index), to)
      case 'message_delta':
        count(event.usage, to)
        return stopped.add(stopReasonOf(event))
      case 'message':
        if (!isWhole(event)) return
        given = event.content
        to.response(defined({ id: idIn(event.id), model: event.model }))
        count(event.usage, to)
        stopped.add(event.stop_reason)
        return finish(to)
      case 'message_stop':
        stopped.add(stopReasonOf(event))
        return finish(to)
    }
  }

  return singleResponse({ begins, isLast: isLastEvent }, read)
}

/** The reason, which some hosts put next to the delta, or into the last event (qA25). */
function stopReasonOf(event: object): string | undefined {
  const beside = 'stop_reason' in event ? event.stop_reason : undefined
  const inside = 'delta' in event && isRecord(event.delta) ? event.delta.stop_reason : undefined
  return wordIn(inside ?? beside)
}

function begins(event: StreamEvent): { readonly id: string | undefined } | undefined {
  return event.type === 'message_start' && event.message ? { id: idIn(event.message.id) } : undefined
}

/** Whether the protocol ends with this event. */
export function isLastEvent(event: StreamEvent): boolean {
  return event.type === 'message_stop' || isWhole(event)
}

/** Whether it is the whole message (qA26), and not an event of an unknown type. */
function isWhole(event: StreamEvent): boolean {
  return event.type === 'message' && Array.isArray(event.content)
}

/** `ping` is missing in the client's list of events. An event without a type is none of them. */
export function isSilentEvent(event: StreamEvent | { readonly type?: 'ping' }): boolean {
  if (event.type !== 'content_block_delta') return !event.type || event.type === 'ping'
  return event.delta?.type === 'text_delta' && event.delta.text === ''
}
