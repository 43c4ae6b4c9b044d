/** Groups the exchanges of a recording into conversations: each response with calls, followed by the response to their results. */

import { callsOf, messageOf, type ToolCall } from '@meanwhile/core'
import type { RecordedExchange } from '@meanwhile/harness/server'
import { answeredCalls } from './answered-calls.ts'
import { type ReadResponse, readResponse } from './read-response.ts'

/** A response that was read, and those of its calls that the client had to make. */
export interface Spoken extends ReadResponse {
  /** Its index in the recording, from 0. */
  readonly index: number
  readonly exchange: RecordedExchange
  readonly calls: readonly ToolCall[]
}

export interface Conversations {
  /** Conversations with tool calls. The last response of each may call tools, too: their results then were never sent. */
  readonly withCalls: readonly (readonly Spoken[])[]
  /** How many single responses call nothing: nothing can start early in them. */
  readonly withoutCalls: number
  /** What cannot be played, and why. */
  readonly left: readonly { readonly index: number; readonly why: string }[]
}

export async function conversationsOf(exchanges: readonly RecordedExchange[]): Promise<Conversations> {
  const chains: Spoken[][] = []
  const left: { index: number; why: string }[] = []
  for (const [index, exchange] of exchanges.entries()) {
    const spoken = await read(exchange, index)
    if ('why' in spoken) {
      left.push({ index, why: spoken.why })
      continue
    }
    const { wire, body } = exchange.request
    const answered = new Set(answeredCalls(wire, body))
    const chain = chains.findLast((open) => open.at(-1)?.calls.some(({ id }) => answered.has(id)))
    if (chain) chain.push(spoken)
    else chains.push([spoken])
  }
  const withCalls = chains.filter(([first]) => first && first.calls.length > 0)
  return { withCalls, withoutCalls: chains.length - withCalls.length, left }
}

async function read(exchange: RecordedExchange, index: number): Promise<Spoken | { readonly why: string }> {
  const { status, end } = exchange.response
  if (status !== 200) return { why: `it has the status ${status}` }
  if (end[1] === 'broken') return { why: 'it broke off' }
  let response: ReadResponse
  try {
    response = await readResponse(exchange)
  } catch (error) {
    return { why: messageOf(error) }
  }
  const calls = callsOf(response.message).filter((call) => !call.providerResult)
  const { finishReason } = response.message
  if (finishReason !== 'tool-calls' && finishReason !== 'stop') return { why: `it ended with ${finishReason}` }
  if (calls.some((call) => call.inputError !== undefined || !isObject(call.input))) {
    return { why: 'the arguments of a call are not a JSON object' }
  }
  return { ...response, calls, exchange, index }
}

function isObject(input: unknown): boolean {
  return typeof input === 'object' && input !== null && !Array.isArray(input)
}
