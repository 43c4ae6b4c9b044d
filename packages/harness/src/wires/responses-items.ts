/** The output items of OpenAI Responses, with the events that open them, carry their deltas and close them. */

/** Creates the frame of one event and numbers it. */
export type Send = (type: string, fields: object) => string

export interface OutputItem {
  readonly kind: 'text' | 'reasoning' | 'call'
  /** The frames that open it. */
  readonly begin: readonly string[]
  delta(delta: string): string
  end(status: 'completed' | 'incomplete'): string[]
  /** The item in its current state; complete once it has ended. */
  readonly item: object
}

interface Place {
  readonly id: string
  /** Its index in the response's output. */
  readonly index: number
}

/** A message with one part of text. */
export function textItem(send: Send, { id, index }: Place): OutputItem {
  const at = { item_id: id, output_index: index, content_index: 0 }
  const part = (text: string) => ({ type: 'output_text', annotations: [], logprobs: [], text })
  const message = (status: string, content: object[]) => ({ id, type: 'message', status, content, role: 'assistant' })
  const fragments: string[] = []
  let item = message('in_progress', [])

  return {
    kind: 'text',
    begin: [
      send('response.output_item.added', { output_index: index, item }),
      send('response.content_part.added', { ...at, part: part('') }),
    ],
    delta(delta) {
      fragments.push(delta)
      return send('response.output_text.delta', { ...at, delta, logprobs: [] })
    },
    end(status) {
      const text = fragments.join('')
      item = message(status, [part(text)])
      return [
        send('response.output_text.done', { ...at, text, logprobs: [] }),
        send('response.content_part.done', { ...at, part: part(text) }),
        send('response.output_item.done', { output_index: index, item }),
      ]
    },
    get item() {
      return item
    },
  }
}

/** A reasoning item with one part of summary; with encrypted content if the request includes it. */
export function reasoningItem(send: Send, { id, index }: Place, encrypted: boolean): OutputItem {
  const at = { item_id: id, output_index: index, summary_index: 0 }
  const part = (text: string) => ({ type: 'summary_text', text })
  const reasoning = (summary: object[]) => ({
    id,
    type: 'reasoning',
    ...(encrypted ? { encrypted_content: `encrypted-${id}` } : {}),
    summary,
  })
  const fragments: string[] = []
  let item = reasoning([])

  return {
    kind: 'reasoning',
    begin: [
      send('response.output_item.added', { output_index: index, item }),
      send('response.reasoning_summary_part.added', { ...at, part: part('') }),
    ],
    delta(delta) {
      fragments.push(delta)
      return send('response.reasoning_summary_text.delta', { ...at, delta })
    },
    end() {
      const text = fragments.join('')
      item = reasoning([part(text)])
      return [
        send('response.reasoning_summary_text.done', { ...at, text }),
        send('response.reasoning_summary_part.done', { ...at, part: part(text) }),
        send('response.output_item.done', { output_index: index, item }),
      ]
    },
    get item() {
      return item
    },
  }
}

/** A function call. */
export function callItem(
  send: Send,
  { id, index }: Place,
  call: { readonly id: string; readonly name: string },
): OutputItem {
  const at = { item_id: id, output_index: index }
  const functionCall = (status: string, text: string) => ({
    id,
    type: 'function_call',
    status,
    arguments: text,
    call_id: call.id,
    name: call.name,
  })
  const fragments: string[] = []
  let item = functionCall('in_progress', '')

  return {
    kind: 'call',
    begin: [send('response.output_item.added', { output_index: index, item })],
    delta(delta) {
      fragments.push(delta)
      return send('response.function_call_arguments.delta', { ...at, delta })
    },
    end(status) {
      const text = fragments.join('')
      item = functionCall(status, text)
      return [
        send('response.function_call_arguments.done', { ...at, name: call.name, arguments: text }),
        send('response.output_item.done', { output_index: index, item }),
      ]
    },
    get item() {
      return item
    },
  }
}
