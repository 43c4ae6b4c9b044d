/** A model on each wire. */

import Anthropic from '@anthropic-ai/sdk'
import type { Model } from '@meanwhile/core'
import type { WireName } from '@meanwhile/harness'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'

export function modelOn(wire: WireName, fetch: typeof globalThis.fetch, idleTimeout = 1_000): Model {
  const options = { apiKey: 'none', fetch, maxRetries: 0 }
  if (wire === 'anthropic') return anthropic({ client: new Anthropic(options), model: 'm', idleTimeout })
  return openai({
    client: new OpenAI(options),
    model: 'm',
    idleTimeout,
    ...(wire === 'openai-chat' && { api: 'chat' as const }),
  })
}
