/** The body that an adapter sends, without a client and without a request. */

import { ConfigError, type ModelRequest } from '@meanwhile/core'
import { chatRequest } from './chat-request.ts'
import { type Target, targetOf } from './families.ts'
import { MAX_TOKENS, messagesRequest } from './messages-request.ts'
import { responsesRequest } from './responses-request.ts'
import { withWireNames } from './wire-keys.ts'
import type { WireName } from './wire-name.ts'

export type { WireName } from './wire-name.ts'

/**
 * Returns the body of a request on a wire, as its adapter would send it. If the model of the request has a `server`, it
 * is written for this provider, model and server; otherwise for the provider of the wire itself, OpenAI or Anthropic.
 *
 * @throws {ConfigError} The wire is unknown, or cannot take the request: an adapter would throw the same error.
 */
export function requestOn(wire: WireName, request: ModelRequest): object {
  const { model } = request
  const write = WIRES[wire]
  if (!write) throw new ConfigError('wire', `must be ${Object.keys(WIRES).join(', ')}, not ${String(wire)}`)
  const provider = wire === 'anthropic' ? 'anthropic' : 'openai'
  return write(targetOf(wire, model.server ? model : { provider, id: model.id }), request)
}

const WIRES: Readonly<Record<WireName, (target: Target, request: ModelRequest) => object>> = {
  'openai-chat': chatRequest,
  'openai-responses': responsesRequest,
  anthropic: (target, request) => messagesRequest(target, MAX_TOKENS, withWireNames(target, request)),
}
