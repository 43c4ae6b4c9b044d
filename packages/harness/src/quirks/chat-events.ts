/** Builds events of OpenAI Chat Completions, as short as hosts send them. */

export const DONE = 'data: [DONE]\n\n'

/** The first chunk of a response. */
export const begin: object = chunk({ role: 'assistant', content: null })

/** A chunk with one choice. */
export function chunk(delta: object, finishReason: string | null = null): object {
  return envelope({ choices: [{ index: 0, delta, finish_reason: finishReason }] })
}

/** A chunk with these members and its id. */
export function envelope(members: object): object {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_770_000_000, model: 'm', ...members }
}

/**
 * A piece of a call: `i`ndex, id, `n`ame and `a`rguments; missing members are not sent. The `type` comes with the id.
 */
export interface Piece {
  readonly i?: number
  readonly id?: string | null
  readonly n?: string | null
  readonly a?: string | object | null
}

/** A chunk with pieces of calls. */
export function pieces(...list: readonly Piece[]): object {
  return chunk({ tool_calls: list.map(piece) })
}

export function piece({ i, id, n, a }: Piece): object {
  return {
    ...(i !== undefined && { index: i }),
    ...(id !== undefined && { id }),
    ...(id && { type: 'function' }),
    function: { ...(n !== undefined && { name: n }), ...(a !== undefined && { arguments: a }) },
  }
}

/** The usual end: a finish reason and the end of the protocol. */
export function end(finishReason: string): readonly (object | string)[] {
  return [chunk({}, finishReason), DONE]
}
