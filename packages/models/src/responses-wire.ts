/** The wire of OpenAI's Responses API, for a loop that uses its own client. */

import type { Wire } from '@meanwhile/assemble'
import { DEFAULT_INPUT_LIMITS } from '@meanwhile/core'
import type OpenAI from 'openai'
import { explain, readSafely } from './explain.ts'
import { targetOf, UNKNOWN } from './families.ts'
import { refuseMissingCalls } from './missing-calls.ts'
import { inputItems } from './responses-request.ts'
import { responsesReader } from './responses-stream.ts'
import { providerOf, type WireOptions } from './wire-options.ts'
import { refuseChat } from './wrong-api.ts'

/**
 * Reads the events of `client.responses.create({ stream: true })`. The items contain the whole response, so nothing has
 * to be stored: use `store: false`, and with models that reason `include: ['reasoning.encrypted_content']`. `provider`:
 * as in `openai`.
 */
export function responsesWire(
  options: WireOptions = {},
): Wire<OpenAI.Responses.ResponseStreamEvent, OpenAI.Responses.ResponseInputItem> {
  const provider = providerOf('responsesWire', options, 'openai')
  const target = targetOf('openai-responses', { provider, id: '', server: UNKNOWN })
  return {
    provider,
    reader: (request) =>
      readSafely(
        refuseMissingCalls(refuseChat(responsesReader(provider, { ...request, inputLimits: DEFAULT_INPUT_LIMITS }))),
      ),
    explain,
    items: (messages) => inputItems(messages, target),
  }
}
