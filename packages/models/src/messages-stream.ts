/** Converts the stream of Anthropic's Messages API to model events. */

import type Anthropic from '@anthropic-ai/sdk'
import type { Assembler, FinishReason, Label, ReadChunk } from '@meanwhile/core'
import { argumentsText } from '@meanwhile/core'
import { defined } from './defined.ts'
import { ContradictionError } from './explain.ts'
import { isRecord } from './is-record.ts'
import {
  type Content,
  type Delta,
  isOpaque,
  type OpaqueContent,
  type OwnCall,
  type ProviderCall,
  type ProviderResult,
} from './messages-content.ts'
import { type Counts, usageOf } from './messages-usage.ts'
import { singleResponse } from './single-response.ts'

/** A block of the response. Events with its label belong to one part or one call. */
interface Block {
  readonly label: number
  readonly id: string | undefined
  /** Only for a call. */
  readonly name: string | undefined
  isOver?: boolean
  /** Only for a call: the input in its start event, which is a placeholder if deltas follow (qA2, qA3). */
  input?: unknown
  /** Whether any input has arrived. */
  told?: boolean
  citations?: object[]
  opaque?: object
}

/**
 * Reads the events. The stop event of a block seals its call, unless no input arrived: a truncated response also stops
 * its last block, and gateways stop blocks too soon (qA10). Only `message_stop` ends the response (qA7).
 */
export function messagesReader(provider: string): ReadChunk<Anthropic.RawMessageStreamEvent> {
  let begun = 0
  const blocks = new Map<number, Block>()
  const ours: Label[] = []
  // The calls that the provider runs, by id. They are sealed with their results, which are separate blocks (G16).
  const running = new Map<string, Label>()
  let counts: Counts = {}
  let stopReason: string | undefined

  /**
   * A start event begins a new block, even at an index that is in use (qA9), unless the same call starts again (qA14).
   */
  function begin(index: number, id?: string, name?: string): Block {
    const known = blocks.get(index)
    if (id && known?.id === id && known.name === name) return known
    const block: Block = { label: begun++, id, name }
    blocks.set(index, block)
    return block
  }

  /**
   * Throws if a call starts with another name in place of an open one, because it cannot be decided whether it is the
   * same call (qA15).
   */
  function checkStart(index: number, { name }: OwnCall, to: Assembler): void {
    const open = blocks.get(index)
    if (!open || open.isOver || !('input' in open) || open.name === name) return
    if (to.isWhole(open.label) || isFilled(open.input)) return
    throw new ContradictionError(`the call that started as ${open.name} started again as ${name} before it ended`)
  }

  function start(index: number, content: Content, to: Assembler): void {
    if (content.type === 'tool_use') checkStart(index, content, to)
    const block = 'id' in content ? begin(index, content.id, content.name) : begin(index)
    if (content.type === 'text') to.text(content.text, block)
    else if (content.type === 'thinking') {
      to.reasoning(content.thinking, block)
      if (content.signature) mark(block, { signature: content.signature }, to)
    } else if (content.type === 'redacted_thinking') mark(block, { data: content.data }, to)
    else if (content.type === 'tool_use') call(block, content, to)
    else if ('tool_use_id' in content) end(block, content, to)
    else if ('input' in content) run(block, content, to)
    else if (isOpaque(content)) {
      if (content.type === 'fallback') takeOver(content, to)
      keep(block, content, to)
    }
  }

  function call(block: Block, { id, name, input, caller, toolset_name }: OwnCall, to: Assembler): void {
    block.input = input
    ours.push(block.label)
    const own = defined({ caller: caller?.type === 'direct' ? undefined : caller, toolset_name })
    to.call(block.label, { id, name, ...(isFilled(own) && { metadata: { [provider]: own } }) })
  }

  function run(block: Block, { id, name, input, ...rest }: ProviderCall, to: Assembler): void {
    block.input = input
    running.set(id, block.label)
    to.call(block.label, { id, name, providerResult: null, metadata: { [provider]: rest } })
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
    for (const label of ours) to.call(label, { providerResult: null })
    to.response(defined({ model: next?.model }))
  }

  function add(index: number, delta: Delta, to: Assembler): void {
    // Its start may be missing (qA8).
    const block = blocks.get(index) ?? begin(index)
    if (delta.type === 'text_delta') to.text(delta.text, block)
    else if (delta.type === 'thinking_delta') to.reasoning(delta.thinking, block)
    else if (delta.type === 'signature_delta') mark(block, { signature: delta.signature }, to)
    else if (delta.type === 'citations_delta') (block.citations ??= []).push(delta.citation)
    else if (delta.type === 'compaction_delta') keep(block, { ...block.opaque, ...delta, type: 'compaction' }, to)
    else if (delta.type === 'input_json_delta' && delta.partial_json !== '' && 'input' in block) {
      block.told = true
      to.call(block.label, { delta: delta.partial_json })
    }
  }

  function stop(index: number, to: Assembler): void {
    const block = blocks.get(index)
    if (!block) return
    block.isOver = true
    const { label, id, input, citations } = block
    if (citations) to.text('', { label, metadata: { [provider]: { citations } } })
    if (!('input' in block)) return
    if (!block.told && isFilled(input)) {
      block.told = true
      to.call(label, { delta: argumentsText(input) })
    }
    if (block.told && !running.has(id ?? '')) to.seal(label)
  }

  function keep(block: Block, content: object, to: Assembler): void {
    block.opaque = content
    mark(block, { block: content }, to)
  }

  function mark({ label }: Block, data: object, to: Assembler): void {
    to.reasoning('', { label, metadata: { [provider]: data } })
  }

  function count(usage: Counts, to: Assembler): void {
    counts = { ...counts, ...defined(usage) }
    to.usage(usageOf(counts))
  }

  return singleResponse({ begins, isLast: isLastEvent }, (event, to) => {
    switch (event.type) {
      case 'message_start':
        to.response(defined({ id: event.message.id, model: event.message.model }))
        if (event.message.usage) count(event.message.usage, to)
        break
      case 'content_block_start':
        start(event.index, event.content_block, to)
        break
      case 'content_block_delta':
        add(event.index, event.delta, to)
        break
      case 'content_block_stop':
        stop(event.index, to)
        break
      case 'message_delta':
        if (event.usage) count(event.usage, to)
        stopReason = event.delta.stop_reason ?? stopReason
        break
      case 'message_stop':
        to.response(defined({ finishReason: stopReason }))
        to.finish(FINISH_REASONS.get(stopReason ?? '') ?? 'other')
        break
    }
  })
}

function begins(event: Anthropic.RawMessageStreamEvent): Anthropic.Message | undefined {
  return event.type === 'message_start' ? event.message : undefined
}

/** Whether the protocol ends with this event. */
export function isLastEvent({ type }: Anthropic.RawMessageStreamEvent): boolean {
  return type === 'message_stop'
}

/** `ping` is missing in the client's list of events. */
export function isSilentEvent(event: Anthropic.RawMessageStreamEvent | { readonly type: 'ping' }): boolean {
  if (event.type !== 'content_block_delta') return event.type === 'ping'
  return event.delta.type === 'text_delta' && event.delta.text === ''
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool-calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content-filter'],
])

function isFilled(input: unknown): boolean {
  return isRecord(input) && Object.keys(input).length > 0
}
