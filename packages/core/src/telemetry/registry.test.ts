import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// The attributes with `gen_ai.` are those of OpenTelemetry's registry, which `test-data` contains with its version.

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')

const registry: { readonly attributes: Readonly<Record<string, string>> } = JSON.parse(
  read('../../test-data/telemetry/gen-ai-registry.json'),
)

/** What core writes, with its types: `documented.test.ts` checks that there is nothing else. */
const ours = [...read('./semconv.ts').matchAll(/^ {2}'(gen_ai\..+)': (.+)$/gm)].map(
  ([, name = '', type = '']) => [name, type.toLowerCase()] as const,
)

test('every attribute with `gen_ai.` is in the registry of the conventions, with its type', () => {
  expect(ours.map(([name]) => name)).toEqual([
    'gen_ai.operation.name',
    'gen_ai.agent.name',
    'gen_ai.conversation.id',
    'gen_ai.provider.name',
    'gen_ai.request.model',
    'gen_ai.request.stream',
    'gen_ai.request.max_tokens',
    'gen_ai.request.temperature',
    'gen_ai.request.top_p',
    'gen_ai.request.top_k',
    'gen_ai.request.frequency_penalty',
    'gen_ai.request.presence_penalty',
    'gen_ai.request.stop_sequences',
    'gen_ai.request.seed',
    'gen_ai.response.id',
    'gen_ai.response.model',
    'gen_ai.response.finish_reasons',
    'gen_ai.response.time_to_first_chunk',
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cache_write.input_tokens',
    'gen_ai.usage.reasoning.output_tokens',
    'gen_ai.system_instructions',
    'gen_ai.input.messages',
    'gen_ai.output.messages',
    'gen_ai.tool.definitions',
    'gen_ai.tool.name',
    'gen_ai.tool.call.id',
    'gen_ai.tool.type',
    'gen_ai.tool.call.arguments',
    'gen_ai.tool.call.result',
    'gen_ai.token.modality',
  ])
  // On a span, a value of any type may be JSON in a text.
  const wrong = ours.filter(([name, type]) => {
    const theirs = registry.attributes[name]
    return theirs !== type && !(theirs === 'any' && type === 'string')
  })
  expect(wrong).toEqual([])
})
