/** OpenAI's Responses API, for a loop that asks with its own client. */

import type { Wire } from '@meanwhile/core'
import type OpenAI from 'openai'
import { explain, readSafely } from './explain.ts'
import { inputItems } from './responses-request.ts'
import { responsesReader } from './responses-stream.ts'
import { providerOf, type WireOptions } from './wire-options.ts'

/**
 * Reads the events of `client.responses.create({ stream: true })`. Its items carry the whole response, so that nothing need be stored:
 * `store: false`, and with models that reason `include: ['reasoning.encrypted_content']`. `provider`: as that of `openai`.
 */
export function responsesWire(
  options: WireOptions = {},
): Wire<OpenAI.Responses.ResponseStreamEvent, OpenAI.Responses.ResponseInputItem> {
  const provider = providerOf('responsesWire', options, 'openai')
  return {
    provider,
    reader: (request) => readSafely(responsesReader(provider, request)),
    explain,
    items: (messages) => inputItems(messages, provider),
  }
}
