/** Which requests of a scripted model providers would refuse. */

import { hash } from 'node:crypto'
import type { ScriptedModel } from '@meanwhile/assemble/testing'
import { ConfigError, type ModelRequest } from '@meanwhile/core'
import { refusals } from '@meanwhile/harness/rules'
import { requestOn, type WireName } from '@meanwhile/models/request'
import { sized } from '@meanwhile/tests/size'

const WIRES: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic']

/**
 * A longer request is checked only if it is the last one of its model: in a long run each request contains those before
 * it, so that checking all of them would take quadratic time. Small runs do so from the first steps on.
 */
const LONG = sized({ small: 6, middle: 10, whole: 50 })

/** Hashes of requests that providers accept. Most requests of tests are alike: each is checked once in a process. */
const accepted = new Set<string>()

/** The most hashes that are kept: long runs make millions of requests. */
const MOST = 10_000

/** A line for each refusal of a request of this model, written for all wires. `isChecked` is asked once for each request. */
export function refusedRequests(
  { id, requests }: ScriptedModel,
  isChecked: () => boolean = () => true,
): readonly string[] {
  return requests.flatMap((request, i) => {
    if (!isChecked() || (request.messages.length > LONG && i < requests.length - 1)) return []
    const key = keyOf(request)
    if (key !== undefined && accepted.has(key)) return []
    const refused = WIRES.flatMap((wire) =>
      refusals(wire, written(wire, request)).map(
        ({ rule, message }) => `request ${i + 1} of ${id}, written for ${wire}: ${message} (${rule})`,
      ),
    )
    if (key !== undefined && refused.length === 0) {
      if (accepted.size >= MOST) accepted.clear()
      accepted.add(key)
    }
    return refused
  })
}

/**
 * The hash of what decides how a request is written. `toolNames` and `takenIds` do not: they are for the reader of the response. Undefined if
 * JSON cannot say it, as if a value contains itself.
 */
function keyOf({
  model,
  toolNames: _names,
  takenIds: _ids,
  signal: _signal,
  ...rest
}: ModelRequest): string | undefined {
  const { provider, id, server } = model
  try {
    return hash('sha1', JSON.stringify({ ...rest, model: { provider, id, server } }), 'base64')
  } catch {
    return undefined
  }
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
