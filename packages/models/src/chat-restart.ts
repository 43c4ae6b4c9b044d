/** Whether a Chat Completions stream goes on with a second response, though no event of this wire says that one begins. */

/** What is read of a chunk. */
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
 * Tells of each chunk whether it is of a second response. All chunks of a response should have one id, and the first of them the role.
 * But some hosts give every chunk an id of its own (qC40), some give every chunk the role, and some gateways have another host go on
 * with a text. So three things are taken together: the id had stayed, the role comes with another id, and before it came a call or a
 * finish reason.
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
