/** Which requests of a scripted model providers would refuse. */

import { ConfigError, type ModelRequest } from '@meanwhile/core'
import type { ScriptedModel } from '@meanwhile/core/testing'
import { refusals } from '@meanwhile/harness/rules'
import { requestOn, type WireName } from '@meanwhile/models/request'

const WIRES: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic']

/**
 * A longer request is checked only if it is the last one of its model: in a long run each request contains those before
 * it, so that checking all of them would take quadratic time.
 */
const LONG = 50

/** A line for each refusal of a request of this model, written for all wires. */
export function refusedRequests({ id, requests }: ScriptedModel): readonly string[] {
  return requests.flatMap((request, i) => {
    if (request.messages.length > LONG && i < requests.length - 1) return []
    return WIRES.flatMap((wire) =>
      refusals(wire, written(wire, request)).map(
        ({ rule, message }) => `request ${i + 1} of ${id}, written for ${wire}: ${message} (${rule})`,
      ),
    )
  })
}

/** Undefined if the adapter refuses the request before a provider does. */
function written(wire: WireName, request: ModelRequest): object | undefined {
  try {
    return requestOn(wire, request)
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}
