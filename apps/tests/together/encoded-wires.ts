/** The bodies of encoded calls on each wire. */

import { type Encoded, type EncodedCall, piecesOf } from './encoded-calls.ts'
import { events } from './field-agent.ts'

export function bodyOf(encoded: Encoded): string {
  if (encoded.wire === 'chat') return chatBody(encoded)
  return events(...(encoded.wire === 'responses' ? responsesEvents(encoded) : messagesEvents(encoded)))
}

/** Counts the places at which calls and their pieces come. */
function counter(): () => number {
  let next = 0
  return () => next++
}

function chatBody({ calls, end, isNoisy }: Encoded): string {
  const place = counter()
  const chunk = (delta: object, reason: string | null = null) =>
    events({ id: 'chatcmpl-1', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })
  const indexed = (index: number) => (isNoisy ? String(index) : index)
  const piece = (index: number, more: object) =>
    chunk({ tool_calls: [...(isNoisy ? [null] : []), { index: indexed(index), ...more }] })
  const header = ({ id, name }: EncodedCall, text: unknown) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  })
  const rest = (text: string) => ({ function: { arguments: text } })

  function write(call: EncodedCall): string {
    const at = place()
    const pieces = piecesOf(call)
    switch (call.shape) {
      case 'plain':
        return piece(at, header(call, '')) + pieces.map((text) => piece(at, rest(text))).join('')
      case 'twice':
        return piece(at, header(call, call.text)) + piece(place(), header(call, call.text))
      case 'parts':
        return piece(at, header(call, '')) + piece(place(), header(call, call.text))
      case 'object':
        return piece(at, header(call, call.input))
      case 'drift':
        return piece(at, header(call, '')) + pieces.map((text) => piece(place(), rest(text))).join('')
      case 'given':
        return events({
          id: 'chatcmpl-1',
          choices: [{ index: 0, message: { tool_calls: [{ index: at, ...header(call, call.text) }] } }],
        })
      case 'late':
        return piece(at, header(call, null)) + piece(at, { id: call.id, ...rest(call.text) })
      case 'lost':
        return piece(at, rest(call.text))
    }
  }

  const alive = isNoisy ? 'data: : keepalive\n\n' : ''
  const begin = chunk({ role: 'assistant', content: isNoisy ? null : '' })
  return `${begin}${calls.map(write).join(alive)}${alive}${chunk({}, end)}data: [DONE]\n\n`
}

function responsesEvents({ calls, end, isNoisy }: Encoded): readonly object[] {
  const place = counter()
  const output: object[] = []
  const numbered = (index: number) => (isNoisy ? String(index) : index)

  function write(call: EncodedCall, n: number): readonly object[] {
    const at = place()
    const item = { type: 'function_call', id: `fc_${n}`, call_id: call.id, name: call.name }
    const event = (type: string, index: number, more: object) => ({
      type: `response.${type}`,
      output_index: numbered(index),
      ...more,
    })
    const added = event('output_item.added', at, {
      item: { ...item, arguments: isNoisy ? null : '', status: 'in_progress' },
    })
    const delta = (text: string, index = at, id: object = { item_id: item.id }) =>
      event('function_call_arguments.delta', index, { ...id, delta: text })
    const done = (text: unknown, index = at) =>
      event('output_item.done', index, { item: { ...item, arguments: text, status: 'completed' } })
    const pieces = piecesOf(call)
    if (call.shape === 'late') output[at] = { ...item, arguments: call.text, status: 'completed' }
    switch (call.shape) {
      case 'plain':
        return [added, ...pieces.map((text) => delta(text)), ...(call.isWhole ? [done(call.text)] : [])]
      case 'twice':
        return [added, ...pieces.map((text) => delta(text)), done(call.text), done(call.text, place())]
      case 'parts':
        return [added, done(''), done(call.text, place())]
      case 'object':
        return [added, done(call.input)]
      case 'drift':
        return [added, ...pieces.map((text) => delta(text, place(), {})), done('')]
      case 'given':
        return [event('output_item.added', at, { item: { ...item, arguments: call.text } }), done('')]
      case 'late':
        return [added]
      case 'lost':
        // The beginning of the call, or only the ids of its pieces.
        if (call.pieces > 2) return [delta(call.text, at, {})]
        return [added, ...pieces.map((text) => delta(text, place(), { item_id: 'fc_x' })), done('')]
    }
  }

  const created = {
    type: 'response.created',
    response: { id: 'resp_1', model: 'm', created_at: 1, status: 'in_progress', output: [] },
  }
  return [created, ...calls.flatMap(write), endOf(end, output.filter(Boolean))]
}

function endOf(end: string, output: readonly object[]): object {
  const response = { id: 'resp_1', model: 'm', status: 'completed', output }
  if (end.startsWith('response.')) return { type: end, response }
  if (end === 'requires_action') return { type: 'response.completed', response: { ...response, status: end } }
  const [reason, , type = 'response.incomplete'] = end.split(' ')
  return { type, response: { ...response, status: 'incomplete', incomplete_details: { reason } } }
}

function messagesEvents({ calls, end, isNoisy }: Encoded): readonly object[] {
  const place = counter()
  const numbered = (index: number) => (isNoisy ? String(index) : index)
  const delta = (index: number, partial_json: unknown) => ({
    type: 'content_block_delta',
    index: numbered(index),
    delta: { type: 'input_json_delta', partial_json },
  })
  const stop = (index: number) => ({ type: 'content_block_stop', index: numbered(index) })

  function write(call: EncodedCall): readonly object[] {
    const at = place()
    const { id, name, text } = call
    const start = (index: number, input: unknown = isNoisy ? null : {}) => ({
      type: 'content_block_start',
      index: numbered(index),
      content_block: { type: 'tool_use', id, name, input },
    })
    const pieces = piecesOf(call)
    const ending = (index: number) => (call.isWhole ? [stop(index)] : [])
    const whole = (index: number) => [start(index), ...pieces.map((piece) => delta(index, piece)), ...ending(index)]
    switch (call.shape) {
      case 'plain':
        return whole(at)
      case 'twice':
        return [...whole(at), ...whole(place())]
      case 'parts':
        return [start(at), stop(at), ...whole(place())]
      case 'object':
        return [start(at), delta(at, call.input), stop(at)]
      case 'drift':
        return [start(at), ...pieces.map((piece) => delta(place(), piece)), stop(at)]
      case 'given':
        return [start(at, text), stop(at)]
      case 'late':
        return [start(at), stop(at), ...pieces.map((piece) => delta(at, piece))]
      case 'lost':
        // The beginning of the block, or only the indexes of its pieces.
        return [...(call.pieces > 2 ? [] : [start(at), stop(at)]), delta(place(), text)]
    }
  }

  const reason = (stop_reason: string) => ({
    type: 'message_delta',
    delta: { stop_reason },
    usage: { output_tokens: 1 },
  })
  return [
    { type: 'message_start', message: { id: 'msg_1', model: 'm', content: [], usage: { input_tokens: 1 } } },
    ...calls.flatMap(write),
    reason(end),
    ...(isNoisy ? [{ type: 'message_delta', usage: { output_tokens: 2 } }] : []),
    { type: 'message_stop' },
  ]
}
