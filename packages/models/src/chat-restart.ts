/** Detects a second response in a Chat Completions stream. No event of this wire marks it. */

import { type ChatChunk, choicesOf, isFirst, listOf, reasonIn, saysSomething } from './chat-chunk.ts'
import { isRecord } from './is-record.ts'

/**
 * Returns a function that decides for each chunk whether it belongs to a second response. Normally all chunks of a
 * response have one id, and only the first has the role. But some hosts give every chunk a new id (qC40), some give
 * every chunk the role, and some gateways let another host continue a text. So three signs are required: the id had
 * stayed the same from chunk to chunk; a chunk has another id and the role; and a call or a finish reason came before. A
 * chunk without content does not count.
 */
export function secondResponses(): (chunk: Pick<ChatChunk, 'id' | 'choices'>) => boolean {
  let latest: string | undefined
  let hasStayed = false
  let hasActed = false
  let isSecond = false

  return (chunk) => {
    const { id } = chunk
    const choice = choicesOf(chunk).find(isFirst)
    if (!choice) return false
    const delta = choice.delta ?? choice.message
    if (id && id !== latest) {
      isSecond = hasStayed && hasActed && !!delta?.role
      latest = id
      hasStayed = false
    } else if (id) hasStayed = true
    hasActed ||= reasonIn(choice) !== undefined || listOf(delta?.tool_calls).some(isRecord) || !!delta?.function_call
    return isSecond && saysSomething(chunk)
  }
}
