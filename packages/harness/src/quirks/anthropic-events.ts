/** Builds events of Anthropic Messages, reduced to the members that matter. */

export const start: object = startAs('msg_1')

/** The beginning of the message with this id. */
export function startAs(id: string): object {
  return {
    type: 'message_start',
    message: {
      id,
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  }
}

export const messageStop: object = { type: 'message_stop' }

/** The stop reason, and the end of the protocol. */
export function end(stopReason: string): readonly object[] {
  return [messageDelta(stopReason), messageStop]
}

export function messageDelta(stopReason: string): object {
  return {
    type: 'message_delta',
    delta: { stop_reason: stopReason, stop_sequence: null },
    usage: { output_tokens: 2 },
  }
}

/** A block of text in these pieces. */
export function text(index: number, ...deltas: readonly string[]): readonly object[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: delta } })),
    stop(index),
  ]
}

/** A block of thinking, with its signature. */
export function thinking(index: number, thought: string): readonly object[] {
  const delta = (piece: object): object => ({ type: 'content_block_delta', index, delta: piece })
  return [
    { type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '', signature: '' } },
    delta({ type: 'thinking_delta', thinking: thought }),
    delta({ type: 'signature_delta', signature: 'signature-1' }),
    stop(index),
  ]
}

/** A tool call whose arguments come in these pieces; `input` is in its start event. */
export function toolUse(
  index: number,
  call: { readonly id: string; readonly name: string; readonly input?: object },
  ...deltas: readonly string[]
): readonly object[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'tool_use', input: {}, ...call } },
    ...deltas.map((delta) => inputDelta(index, delta)),
    stop(index),
  ]
}

/** A piece of the arguments of the call in this block. */
export function inputDelta(index: number, delta: string): object {
  return { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: delta } }
}

export function stop(index: number): object {
  return { type: 'content_block_stop', index }
}
