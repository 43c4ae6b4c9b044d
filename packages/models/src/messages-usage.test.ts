import type { Usage } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { read } from '../test/ask.ts'
import { claude } from '../test/wires.ts'

// The formats, and most numbers, are those of Anthropic's documentation of compaction, the advisor tool and fallbacks.

interface Figures {
  readonly in: number
  readonly out: number
  readonly read?: number
  readonly written?: number
}

function figures({ in: input, out, read = 0, written = 0 }: Figures): object {
  return {
    input_tokens: input,
    output_tokens: out,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
  }
}

function iteration(type: string, model: string | null, of: Figures): object {
  return { type, model, cache_creation: null, ...figures(of) }
}

async function usageOf(usage: object, ...earlier: readonly object[]): Promise<Usage | undefined> {
  const delta = (counts: object): object => ({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: counts,
  })
  const start = { id: 'msg_1', model: 'm', content: [], usage: { ...figures({ in: 5, out: 1 }), iterations: null } }
  const { message } = await read(claude, [
    { type: 'message_start', message: start },
    ...earlier.map(delta),
    delta(usage),
    { type: 'message_stop' },
  ])
  return message.usage
}

const compacted = {
  ...figures({ in: 23_000, out: 1_000 }),
  iterations: [
    iteration('compaction', null, { in: 180_000, out: 3_500 }),
    iteration('message', null, { in: 23_000, out: 1_000 }),
  ],
}

test('a compaction counts in addition to the answer (B17)', async () => {
  expect(await usageOf(compacted)).toEqual({
    inputTokens: 203_000,
    outputTokens: 4_500,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  })
})

test('repeated counts replace earlier ones, and are not added (B17)', async () => {
  const early = { output_tokens: 0, iterations: compacted.iterations.slice(0, 1) }
  expect(await usageOf(compacted, early, compacted)).toEqual(await usageOf(compacted))
})

test('an advisor counts; the iterations of the model itself are already in its counts (B17)', async () => {
  const usage = {
    ...figures({ in: 1_760, read: 412, out: 531 }),
    output_tokens_details: { thinking_tokens: 40 },
    iterations: [
      iteration('message', null, { in: 412, out: 89 }),
      iteration('advisor_message', 'n', { in: 823, read: 7, written: 3, out: 1_612 }),
      iteration('message', null, { in: 1_348, read: 412, out: 442 }),
    ],
  }
  expect(await usageOf(usage)).toEqual({
    inputTokens: 1_760 + 412 + 823 + 7 + 3,
    outputTokens: 531 + 1_612,
    cacheReadTokens: 412 + 7,
    cacheWriteTokens: 3,
    reasoningTokens: 40,
  })
})

test('models that declined count; the one that answered is already in the counts, with all its iterations (B17, qA11)', async () => {
  const usage = {
    ...figures({ in: 1_000, out: 264 }),
    iterations: [
      iteration('message', 'm', { in: 408, out: 20 }),
      iteration('message', 'n', { in: 410, out: 0 }),
      iteration('message', 'o', { in: 412, out: 200 }),
      iteration('fallback_message', 'o', { in: 588, out: 64 }),
    ],
  }
  expect(await usageOf(usage)).toMatchObject({ inputTokens: 1_000 + 408 + 410, outputTokens: 264 + 20 })
})

test.each([
  ['all of them by the requested model', ['m', 'm']],
  ['none of them with a model name', [null, null]],
])('iterations without a model that answered do not change the counts: %s (B17)', async (_, models) => {
  const usage = {
    ...figures({ in: 30, out: 7 }),
    iterations: models.map((model) => iteration('message', model, { in: 15, out: 3 })),
  }
  expect(await usageOf(usage)).toMatchObject({ inputTokens: 30, outputTokens: 7 })
})

test('an attempt whose model is not named is omitted rather than counted twice (B17)', async () => {
  const usage = {
    ...figures({ in: 30, out: 7 }),
    iterations: [
      iteration('message', null, { in: 15, out: 3 }),
      iteration('fallback_message', 'n', { in: 30, out: 7 }),
    ],
  }
  expect(await usageOf(usage)).toMatchObject({ inputTokens: 30, outputTokens: 7 })
})
