/** The bodies of encoded calls on each wire. */

import { type Encoded, type EncodedCall, piecesOf } from './encoded-calls.ts'
import { events } from './field-agent.ts'

export function bodyOf(encoded: Encoded): string {
  const body =
    encoded.wire === 'chat'
      ? chatBody(encoded)
      : events(...(encoded.wire === 'responses' ? responsesEvents(encoded) : messagesEvents(encoded)))
  return encoded.isGlued ? body.replaceAll('data: {', 'data: : keepalive\ndata: {') : body
}

/** Counts the places at which calls and their pieces come. */
function counter(): () => number {
  let next = 0
  return () => next++
}

function chatBody({ calls, end, isNoisy, isShifted }: Encoded): string {
  const place = counter()
  const chunk = (delta: object, reason: string | null = null) =>
    events({ id: 'chatcmpl-1', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })
  const indexed = (index: number) => (isNoisy ? String(index) : index)
  const piece = (index: number, more: object) =>
    chunk({ tool_calls: [...(isNoisy ? [null] : []), { index: indexed(index), ...more }] })
  const header = ({ id, name }: Pick<EncodedCall, 'id' | 'name'>, text: unknown) => ({
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
      case 'other':
        return otherwise(at, call)
      case 'lost':
        return piece(at, rest(call.text))
    }
  }

  function otherwise(at: number, { id, name, text, input, pieces }: EncodedCall): string {
    if (pieces === 1) return piece(at, { id, function: { name }, arguments: text })
    if (pieces === 2) return piece(at, { id, function: { name, parameters: input } })
    if (pieces === 3) return piece(at, { id, name, arguments: text })
    return piece(at, header({ id, name }, '')) + piece(at, {}) + piece(at, { arguments: text })
  }

  function shifted(): string {
    const begun = calls.map((call, n) => piece(n, header(call, '')))
    const inputs = calls.flatMap((call, n) => piecesOf(call).map((text) => piece(n + 1, rest(text))))
    return [...begun, ...inputs].join('')
  }

  const alive = isNoisy ? 'data: : keepalive\n\n' : ''
  const begin = chunk({ role: 'assistant', content: isNoisy ? null : '' })
  const written = isShifted ? shifted() : calls.map(write).join(alive)
  return `${begin}${written}${alive}${chunk({}, end)}data: [DONE]\n\n`
}

function responsesEvents({ calls, end, isNoisy, isShifted }: Encoded): readonly object[] {
  const place = counter()
  const output: object[] = []
  const numbered = (index: number) => (isNoisy ? String(index) : index)
  const event = (type: string, index: number, more: object) => ({
    type: `response.${type}`,
    output_index: numbered(index),
    ...more,
  })
  const itemOf = ({ id, name }: EncodedCall, n: number) => ({ type: 'function_call', id: `fc_${n}`, call_id: id, name })
  const begun = (item: object, at: number) =>
    event('output_item.added', at, { item: { ...item, arguments: isNoisy ? null : '', status: 'in_progress' } })

  function write(call: EncodedCall, n: number): readonly object[] {
    const at = place()
    const item = itemOf(call, n)
    const added = begun(item, at)
    const delta = (text: string, index = at, id: object = { item_id: item.id }) =>
      event('function_call_arguments.delta', index, { ...id, delta: text })
    const done = (text: unknown, index = at) =>
      event('output_item.done', index, { item: { ...item, arguments: text, status: 'completed' } })
    const named = { type: 'response.function_call_arguments', call_id: call.id }
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
      case 'other':
        return [added, ...pieces.map((text) => ({ ...named, type: `${named.type}.delta`, delta: text }))]
      case 'lost':
        // The beginning of the call, or only the ids of its pieces.
        if (call.pieces > 2) return [delta(call.text, at, {})]
        return [added, ...pieces.map((text) => delta(text, place(), { item_id: 'fc_x' })), done('')]
    }
  }

  function shifted(): readonly object[] {
    const inputs = calls.flatMap((call, n) =>
      piecesOf(call).map((delta) => event('function_call_arguments.delta', n + 1, { delta })),
    )
    return [...calls.map((call, n) => begun(itemOf(call, n), n)), ...inputs]
  }

  const created = {
    type: 'response.created',
    response: { id: 'resp_1', model: 'm', created_at: 1, status: 'in_progress', output: [] },
  }
  return [created, ...(isShifted ? shifted() : calls.flatMap(write)), endOf(end, output.filter(Boolean))]
}

function endOf(end: string, output: readonly object[]): object {
  const response = { id: 'resp_1', model: 'm', status: 'completed', output }
  if (end.startsWith('response.')) return { type: end, response }
  if (end === 'requires_action') return { type: 'response.completed', response: { ...response, status: end } }
  const [reason, , type = 'response.incomplete'] = end.split(' ')
  return { type, response: { ...response, status: 'incomplete', incomplete_details: { reason } } }
}

function messagesEvents({ calls, end, isNoisy, isShifted }: Encoded): readonly object[] {
  const place = counter()
  const numbered = (index: number) => (isNoisy ? String(index) : index)
  const delta = (index: number, partial_json: unknown) => ({
    type: 'content_block_delta',
    index: numbered(index),
    delta: { type: 'input_json_delta', partial_json },
  })
  const stop = (index: number) => ({ type: 'content_block_stop', index: numbered(index) })
  const started = ({ id, name }: EncodedCall, index: number, input: unknown = isNoisy ? null : {}) => ({
    type: 'content_block_start',
    index: numbered(index),
    content_block: { type: 'tool_use', id, name, input },
  })

  function write(call: EncodedCall): readonly object[] {
    const at = place()
    const { text } = call
    const start = (index: number, input?: unknown) => started(call, index, input)
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
      case 'other':
        return [start(at), ...pieces.map((piece) => ({ ...delta(at, ''), delta: { partial_json: piece } })), stop(at)]
      case 'lost':
        // The beginning of the block, or only the indexes of its pieces.
        return [...(call.pieces > 2 ? [] : [start(at), stop(at)]), delta(place(), text)]
    }
  }

  function shifted(): readonly object[] {
    return [
      ...calls.map((call, n) => started(call, n)),
      ...calls.flatMap((call, n) => piecesOf(call).map((piece) => delta(n + 1, piece))),
      ...calls.map((_, n) => stop(n)),
    ]
  }

  const reason = (stop_reason: string) => ({
    type: 'message_delta',
    delta: { stop_reason },
    usage: { output_tokens: 1 },
  })
  return [
    { type: 'message_start', message: { id: 'msg_1', model: 'm', content: [], usage: { input_tokens: 1 } } },
    ...(isShifted ? shifted() : calls.flatMap(write)),
    reason(end),
    ...(isNoisy ? [{ type: 'message_delta', usage: { output_tokens: 2 } }] : []),
    { type: 'message_stop' },
  ]
}
