/** Builds events of OpenAI Responses, reduced to the members that matter. */

const response = { id: 'resp_1', object: 'response', created_at: 1_770_000_000, model: 'm' }

export const created: object = createdAs(response.id)

/** The beginning of the response with this id. */
export function createdAs(id: string | number): object {
  return { type: 'response.created', response: { ...response, id, status: 'in_progress', output: [] } }
}

/** An event that contains only the status of the response with this id. */
export function stateOf(id: string, status: 'queued' | 'in_progress'): object {
  return { type: `response.${status}`, response: { ...response, id, status, output: [] } }
}

export function completed(...output: readonly object[]): object {
  return completedAs(response.id, ...output)
}

/** The end of the response with this id. */
export function completedAs(id: string | number, ...output: readonly object[]): object {
  return { type: 'response.completed', response: { ...response, id, status: 'completed', output } }
}

export function incomplete(reason: string, ...output: readonly object[]): object {
  return {
    type: 'response.incomplete',
    response: { ...response, status: 'incomplete', incomplete_details: { reason }, output },
  }
}

/** An item of the output at its index, when it begins. */
export function itemAdded(place: number, item: object): object {
  return { type: 'response.output_item.added', output_index: place, item }
}

/** The same, when it is finished. */
export function itemDone(place: number, item: object): object {
  return { type: 'response.output_item.done', output_index: place, item }
}

/** A message whose text comes in these pieces, as the first item of the output. */
export function message(...deltas: readonly string[]): readonly object[] {
  return messageAt(0, ...deltas)
}

/** The same, at another index. */
export function messageAt(place: number, ...deltas: readonly string[]): readonly object[] {
  const at = { output_index: place, item_id: 'msg_1', content_index: 0 }
  const text = deltas.join('')
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
  return [
    itemAdded(place, item),
    { type: 'response.content_part.added', ...at, part: textPart('') },
    ...deltas.map((delta) => ({ type: 'response.output_text.delta', ...at, delta })),
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.content_part.done', ...at, part: textPart(text) },
    itemDone(place, messageItem(text)),
  ]
}

/** A piece of the message. */
export function textDelta(delta: string): object {
  return { type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', content_index: 0, delta }
}

/** All of its text, at its end. */
export function textDone(text: string): object {
  return { type: 'response.output_text.done', output_index: 0, item_id: 'msg_1', content_index: 0, text }
}

/** The finished item of a message. */
export function messageItem(text: string): object {
  return { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [textPart(text)] }
}

function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [] }
}

/** A function call of the output, and the events that refer to it. */
export interface CallEvents {
  readonly added: object
  delta(delta: string): object
  done(text: string): object
  itemDone(text: string, status?: string): object
  /** The item in its final form. */
  item(text: string, status?: string): object
}

/** `index` is the item's index in the output and `itemId` its own id; absent if a host sends none. */
export function call(index: number | undefined, id: string, name: string, itemId?: string): CallEvents {
  const place = index === undefined ? {} : { output_index: index }
  const at = { ...place, ...(itemId !== undefined && { item_id: itemId }) }
  const item = (text: string, status = 'completed'): object => ({
    ...(itemId !== undefined && { id: itemId }),
    type: 'function_call',
    call_id: id,
    name,
    arguments: text,
    status,
  })
  return {
    added: { type: 'response.output_item.added', ...place, item: item('', 'in_progress') },
    delta: (delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta }),
    done: (text) => ({ type: 'response.function_call_arguments.done', ...at, arguments: text }),
    itemDone: (text, status) => ({ type: 'response.output_item.done', ...place, item: item(text, status) }),
    item,
  }
}
