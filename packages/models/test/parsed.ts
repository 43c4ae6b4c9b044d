/** A response that its client has parsed, for tests of many or long chunks: most of their time would go into HTTP, bytes and JSON. */

import type Anthropic from '@anthropic-ai/sdk'
import type { Model, ModelRequest } from '@meanwhile/core'
import type { WireName } from '@meanwhile/harness'
import type OpenAI from 'openai'
import { anthropic } from '../src/anthropic.ts'
import { openai } from '../src/openai.ts'
import { type Asked, ask } from './ask.ts'

/** The response read from these chunks of a wire. */
export function readParsed(
  wire: { readonly name: WireName },
  chunks: readonly object[],
  request: Partial<ModelRequest> = {},
): Promise<Asked> {
  return ask(MODELS[wire.name](chunks), request)
}

/** By wire, a model whose client streams these chunks. */
const MODELS: Readonly<Record<WireName, (chunks: readonly object[]) => Model>> = {
  'openai-chat': (chunks) => openai({ client: openaiClient(chunks), model: 'm', api: 'chat' }),
  'openai-responses': (chunks) => openai({ client: openaiClient(chunks), model: 'm' }),
  anthropic: (chunks) => {
    const create = async () => streamOf(chunks) as AsyncIterable<Anthropic.RawMessageStreamEvent>
    return anthropic({ client: { baseURL: 'http://localhost', messages: { create } }, model: 'm' })
  },
}

function openaiClient(chunks: readonly object[]) {
  return {
    baseURL: 'http://localhost',
    chat: { completions: { create: async () => streamOf(chunks) as AsyncIterable<OpenAI.ChatCompletionChunk> } },
    responses: { create: async () => streamOf(chunks) as AsyncIterable<OpenAI.Responses.ResponseStreamEvent> },
  }
}

async function* streamOf(chunks: readonly object[]) {
  yield* chunks
}
