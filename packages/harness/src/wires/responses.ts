/** Writes the stream of OpenAI Responses, as api.openai.com sends it. */

import type { FinishReason } from '@meanwhile/core'
import { openaiError } from './openai.ts'
import { callItem, type OutputItem, reasoningItem, type Send, textItem } from './responses-items.ts'
import { responseObject, responseUsage } from './responses-object.ts'
import { eventFrame, recordedEventFrame } from './sse.ts'
import type { Encoder, Failure, ResponseSeed, Wire, WrittenBeat } from './wire.ts'

/** How an incomplete response ends, by finish reason: determines its status, event and reason. */
const INCOMPLETE: Partial<Record<FinishReason, string>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
  other: 'other',
}

/** `POST /v1/responses`. */
export const responses: Wire = {
  name: 'openai-responses',
  path: '/v1/responses',
  requestIdHeader: 'x-request-id',
  encoder: responsesEncoder,
  errorBody: (failure) => ({ error: openaiError(failure) }),
  recordedFrame: recordedEventFrame,
  recordedEnd: [],
}

function responsesEncoder(seed: ResponseSeed): Encoder {
  const response = responseObject(seed)
  const items: OutputItem[] = []
  const calls = new Map<number, OutputItem>()
  const encrypted = includes(seed, 'reasoning.encrypted_content')
  let prose: OutputItem | undefined
  let sequence = 0

  const send: Send = (type, fields) => eventFrame({ type, sequence_number: sequence++, ...fields })

  return { opening: [send('response.created', { response }), send('response.in_progress', { response })], encode }

  function encode(beat: WrittenBeat): string[] {
    switch (beat.type) {
      case 'text':
      case 'reasoning':
        return prose?.kind === beat.type ? [prose.delta(beat.delta)] : beginProse(beat.type, beat.delta)
      case 'call-start':
        return [...endProse(), ...beginCall(beat)]
      case 'call-delta':
        return [callAt(beat.index).delta(beat.delta)]
      case 'call-end':
        return callAt(beat.index).end('completed')
      case 'fail':
        return [send('error', { error: openaiError(beat) }), failed(beat)]
      case 'end':
        return [...endProse(beat.finishReason), last(beat.finishReason)]
    }
  }

  function beginProse(kind: 'text' | 'reasoning', delta: string): string[] {
    const frames = endProse()
    prose = kind === 'text' ? textItem(send, place('msg')) : reasoningItem(send, place('rs'), encrypted)
    items.push(prose)
    return [...frames, ...prose.begin, prose.delta(delta)]
  }

  function beginCall({ index, id, name }: Extract<WrittenBeat, { type: 'call-start' }>): readonly string[] {
    const call = callItem(send, place('fc'), { id, name })
    calls.set(index, call)
    items.push(call)
    return call.begin
  }

  function endProse(reason: FinishReason = 'stop'): string[] {
    const frames = prose?.end(INCOMPLETE[reason] ? 'incomplete' : 'completed') ?? []
    prose = undefined
    return frames
  }

  function last(reason: FinishReason): string {
    const cause = INCOMPLETE[reason]
    if (reason === 'error') return failed({ code: 'server_error', message: 'The model failed to answer.' })
    return cause === undefined
      ? send('response.completed', { response: finished('completed') })
      : send('response.incomplete', { response: { ...finished('incomplete'), incomplete_details: { reason: cause } } })
  }

  function failed({ code, message }: Pick<Failure, 'code' | 'message'>): string {
    return send('response.failed', { response: { ...response, status: 'failed', error: { code, message } } })
  }

  function finished(status: string): object {
    return { ...response, status, output: items.map((item) => item.item), usage: responseUsage(seed.usage) }
  }

  function place(prefix: string): { id: string; index: number } {
    return { id: `${prefix}_${seed.number}_${items.length}`, index: items.length }
  }

  function callAt(index: number): OutputItem {
    const call = calls.get(index)
    if (!call) throw new TypeError(`call ${index} of response ${seed.number} has not started`)
    return call
  }
}

function includes({ request: { include } }: ResponseSeed, what: string): boolean {
  return Array.isArray(include) && include.includes(what)
}
