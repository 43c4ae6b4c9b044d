/** What is answered, as Anthropic's Messages API streams it. */

import type Anthropic from '@anthropic-ai/sdk'
import type { Assembler, FinishReason, PartOptions, ReadChunk, Usage } from '@meanwhile/core'
import { defined } from './defined.ts'
import { isRecord } from './is-record.ts'

type Start = Anthropic.RawContentBlockStartEvent
type Delta = Anthropic.RawContentBlockDeltaEvent
type ProviderCall = Anthropic.ServerToolUseBlock
type ProviderResult = Extract<Start['content_block'], { tool_use_id: string }>
type Counts = Partial<Anthropic.MessageDeltaUsage>

/** A call is sealed by its block's stop; the response ends with `message_stop` and nothing before it (qA7). */
export function messagesReader(provider: string): ReadChunk<Anthropic.RawMessageStreamEvent> {
  let block: PartOptions = {}
  // Of each open call the input its start brought, as long as no delta has: a placeholder, or all there is (qA2, qA3).
  const inputs = new Map<number, unknown>()
  // The calls that the provider runs, by their ids; they are sealed with their results, which are blocks of their own (G16).
  const running = new Map<string, number>()
  let counts: Counts = {}
  let stopReason: string | undefined

  function start({ index, content_block: content }: Start, to: Assembler): void {
    block = { label: index }
    if (content.type === 'text') to.text(content.text, block)
    else if (content.type === 'thinking') {
      to.reasoning(content.thinking, block)
      if (content.signature) to.reasoning('', marked({ signature: content.signature }))
    } else if (content.type === 'redacted_thinking') to.reasoning('', marked({ data: content.data }))
    else if (content.type === 'tool_use') {
      inputs.set(index, content.input)
      to.call(index, { id: content.id, name: content.name })
    } else if ('tool_use_id' in content) end(index, content, to)
    else if ('input' in content) run(index, content, to)
  }

  function run(index: number, block: ProviderCall, to: Assembler): void {
    const { id, name, input, ...rest } = block
    inputs.set(index, input)
    running.set(id, index)
    to.call(index, { id, name, providerResult: null, metadata: { [provider]: rest } })
  }

  function end(index: number, result: ProviderResult, to: Assembler): void {
    const call = running.get(result.tool_use_id)
    // The call stands in an earlier message (`pause_turn`): the block goes back as it is.
    if (call === undefined) to.reasoning('', { label: index, metadata: { [provider]: { block: result } } })
    else {
      to.call(call, { providerResult: result })
      to.seal(call)
    }
  }

  function add({ index, delta }: Delta, to: Assembler): void {
    // The block is a label, not a position, and its start may be missing (qA8).
    if (block.label !== index) block = { label: index }
    if (delta.type === 'text_delta') to.text(delta.text, block)
    else if (delta.type === 'thinking_delta') to.reasoning(delta.thinking, block)
    else if (delta.type === 'signature_delta') to.reasoning('', marked({ signature: delta.signature }))
    else if (delta.type === 'input_json_delta' && delta.partial_json !== '' && inputs.has(index)) {
      inputs.set(index, undefined)
      to.call(index, { delta: delta.partial_json })
    }
  }

  function stop(index: number, to: Assembler): void {
    if (!inputs.has(index)) return
    const input = inputs.get(index)
    if (isFilled(input)) to.call(index, { delta: JSON.stringify(input) })
    if (![...running.values()].includes(index)) to.seal(index)
  }

  function marked(data: object): PartOptions {
    return { ...block, metadata: { [provider]: data } }
  }

  function count(usage: Counts, to: Assembler): void {
    counts = { ...counts, ...defined(usage) }
    to.usage(usageOf(counts))
  }

  return (event, to) => {
    switch (event.type) {
      case 'message_start':
        to.response(defined({ id: event.message.id, model: event.message.model }))
        if (event.message.usage) count(event.message.usage, to)
        break
      case 'content_block_start':
        start(event, to)
        break
      case 'content_block_delta':
        add(event, to)
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
  }
}

/** `ping` is in no list of the client's events. */
export function isSilentEvent(event: Anthropic.RawMessageStreamEvent | { readonly type: 'ping' }): boolean {
  if (event.type !== 'content_block_delta') return event.type === 'ping'
  return event.delta.type === 'text_delta' && event.delta.text === ''
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool-calls'],
  ['max_tokens', 'length'],
  ['refusal', 'content-filter'],
])

function isFilled(input: unknown): boolean {
  return isRecord(input) && Object.keys(input).length > 0
}

/** The wire counts cached input apart; the vocabulary counts it in. */
function usageOf(counts: Counts): Usage {
  const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: written } = counts
  return defined({
    inputTokens: typeof input === 'number' ? input + (read ?? 0) + (written ?? 0) : undefined,
    outputTokens: counts.output_tokens,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    reasoningTokens: counts.output_tokens_details?.thinking_tokens,
  })
}
