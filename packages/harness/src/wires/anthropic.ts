/** Writes the stream of Anthropic Messages, as api.anthropic.com sends it. */

import type { FinishReason, Usage } from '@meanwhile/core'
import { signatureOf } from '../rules/signatures.ts'
import { type EventPayload, eventFrame, recordedEventFrame } from './sse.ts'
import type { Encoder, Failure, ResponseSeed, Wire, WrittenBeat } from './wire.ts'

/** `error` has no stop reason: it is an error event. */
const STOP_REASONS: Record<Exclude<FinishReason, 'error'>, string> = {
  stop: 'end_turn',
  'tool-calls': 'tool_use',
  length: 'max_tokens',
  'content-filter': 'refusal',
  other: 'pause_turn',
}

/** `POST /v1/messages`. */
export const anthropic: Wire = {
  name: 'anthropic',
  path: '/v1/messages',
  requestIdHeader: 'request-id',
  encoder: anthropicEncoder,
  errorBody,
  recordedFrame: recordedEventFrame,
  recordedEnd: [],
}

function anthropicEncoder({ number, request, usage }: ResponseSeed): Encoder {
  const callBlocks = new Map<number, number>()
  let blocks = 0
  let prose: 'text' | 'reasoning' | undefined
  let pinged = false
  let thoughts: string[] = []

  return { opening: [messageStart()], encode }

  function encode(beat: WrittenBeat): string[] {
    switch (beat.type) {
      case 'text':
      case 'reasoning': {
        const begun = prose === beat.type ? [] : beginProse(beat.type)
        if (beat.type === 'reasoning') thoughts.push(beat.delta)
        return [...begun, delta(blocks - 1, proseDelta(beat.type, beat.delta))]
      }
      case 'call-start':
        callBlocks.set(beat.index, blocks)
        return [
          ...endProse(),
          ...begin({ type: 'tool_use', id: beat.id, name: beat.name, input: {} }),
          delta(blocks - 1, inputDelta('')),
        ]
      case 'call-delta':
        return [delta(blockOf(beat.index), inputDelta(beat.delta))]
      case 'call-end':
        return [stop(blockOf(beat.index))]
      case 'fail':
        return [eventFrame(errorBody(beat))]
      case 'end':
        return [...endProse(), ...last(beat.finishReason)]
    }
  }

  function beginProse(kind: 'text' | 'reasoning'): string[] {
    const frames = endProse()
    prose = kind
    thoughts = []
    const block = kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' }
    return [...frames, ...begin(block)]
  }

  function endProse(): string[] {
    if (!prose) return []
    const index = blocks - 1
    const signature = {
      type: 'signature_delta',
      signature: signatureOf(`signature-${number}-${index}`, thoughts.join('')),
    }
    const frames = prose === 'reasoning' ? [delta(index, signature), stop(index)] : [stop(index)]
    prose = undefined
    return frames
  }

  function begin(block: object): string[] {
    const frames = [eventFrame({ type: 'content_block_start', index: blocks++, content_block: block })]
    // The provider sends its first ping here, and others at any time.
    if (!pinged) frames.push(eventFrame({ type: 'ping' }))
    pinged = true
    return frames
  }

  function messageStart(): string {
    const message = {
      id: `msg_${number}`,
      type: 'message',
      role: 'assistant',
      model: request.model ?? null,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...anthropicUsage(usage), output_tokens: 1, service_tier: 'standard' },
    }
    return eventFrame({ type: 'message_start', message })
  }

  function last(reason: FinishReason): string[] {
    if (reason === 'error') return [eventFrame(anthropicError('api_error', 'Internal server error'))]
    const ending = { stop_reason: STOP_REASONS[reason], stop_sequence: null }
    return [
      eventFrame({ type: 'message_delta', delta: ending, usage: anthropicUsage(usage) }),
      eventFrame({ type: 'message_stop' }),
    ]
  }

  function blockOf(call: number): number {
    const block = callBlocks.get(call)
    if (block === undefined) throw new TypeError(`call ${call} of response ${number} has not started`)
    return block
  }
}

function delta(index: number, piece: object): string {
  return eventFrame({ type: 'content_block_delta', index, delta: piece })
}

function stop(index: number): string {
  return eventFrame({ type: 'content_block_stop', index })
}

function proseDelta(kind: 'text' | 'reasoning', piece: string): object {
  return kind === 'text' ? { type: 'text_delta', text: piece } : { type: 'thinking_delta', thinking: piece }
}

function inputDelta(piece: string): object {
  return { type: 'input_json_delta', partial_json: piece }
}

/** The script's code becomes the type of the error. */
function errorBody({ code, message }: Failure): EventPayload {
  return anthropicError(code, message)
}

function anthropicError(type: string, message: string): EventPayload {
  return { type: 'error', error: { type, message } }
}

/**
 * `input_tokens` does not include what was read from or written to the cache. The provider always sends both sums, and
 * the AI SDK rejects a stream without them, so missing values become 0.
 */
function anthropicUsage({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): object {
  const cached = (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0)
  return {
    input_tokens: Math.max(0, (inputTokens ?? 0) - cached),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    output_tokens: outputTokens ?? 0,
  }
}
