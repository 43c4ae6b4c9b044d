/** The wire of Anthropic's Messages API, for a loop that uses its own client. */

import type Anthropic from '@anthropic-ai/sdk'
import type { Wire } from '@meanwhile/assemble'
import { DEFAULT_INPUT_LIMITS } from '@meanwhile/core'
import { explain, readSafely } from './explain.ts'
import { targetOf } from './families.ts'
import { messageParams } from './messages-request.ts'
import { messagesReader } from './messages-stream.ts'
import { refuseMissingCalls } from './missing-calls.ts'
import { providerOf, type WireOptions } from './wire-options.ts'

/** Reads the events of `client.messages.create({ stream: true })`. `provider`: as in `anthropic`. */
export function messagesWire(options: WireOptions = {}): Wire<Anthropic.RawMessageStreamEvent, Anthropic.MessageParam> {
  const provider = providerOf('messagesWire', options, 'anthropic')
  const target = targetOf('anthropic', { provider, id: '' })
  return {
    provider,
    reader: () => readSafely(refuseMissingCalls(messagesReader(provider, { inputLimits: DEFAULT_INPUT_LIMITS }))),
    explain,
    items: (messages) => messageParams(messages, target),
  }
}
