/** Detects a second response in a Chat Completions stream. No event of this wire marks it. */

/** The members that are read from a chunk. */
interface Chunk {
  readonly id?: string | null
  readonly choices?: readonly Choice[] | null
}

interface Choice {
  readonly index?: number | null
  readonly finish_reason?: string | null
  readonly delta?: {
    readonly role?: string | null
    readonly tool_calls?: readonly object[] | null
    readonly function_call?: object | null | undefined
  } | null
}

/**
 * Returns a function that decides for each chunk whether it belongs to a second response. Normally all chunks of a
 * response have one id, and only the first has the role. But some hosts give every chunk a new id (qC40), some give
 * every chunk the role, and some gateways let another host continue a text. So three signs are required: the id had
 * stayed the same from chunk to chunk; a chunk has another id and the role; and a call or a finish reason came before.
 */
export function secondResponses(): (chunk: Chunk) => boolean {
  let latest: string | undefined
  let hasStayed = false
  let hasActed = false
  let isSecond = false

  return ({ id, choices }) => {
    const choice = choices?.find(({ index }) => !index)
    if (!choice) return false
    const { delta, finish_reason: reason } = choice
    if (id && id !== latest) {
      isSecond = hasStayed && hasActed && !!delta?.role
      latest = id
      hasStayed = false
    } else if (id) hasStayed = true
    hasActed ||= !!reason || !!delta?.tool_calls?.length || !!delta?.function_call
    return isSecond
  }
}
