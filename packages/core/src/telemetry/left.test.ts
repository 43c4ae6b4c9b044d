import { expect, test } from 'vitest'
import { observed } from '../../test/observed.ts'
import { type AssistantMessage, createAgent, type Middleware, type Model, ModelError } from '../index.ts'

// A model attempt that its wrap has left has neither a failure nor a response, whatever its model does then.

const usage = { inputTokens: 3, outputTokens: 2 }
const partial: AssistantMessage = {
  role: 'assistant',
  content: [{ type: 'text', text: 'So' }],
  finishReason: 'error',
  usage,
  response: { id: 'r-1', model: 'own-1-0925' },
}

/** If it is closed before its answer, it ends in the given way. */
function modelThat(ends: () => void): Model {
  return {
    provider: 'own',
    id: 'own-1',
    async *stream() {
      let whole = false
      try {
        yield { type: 'text-delta', delta: 'So' }
        await Promise.resolve()
        yield { type: 'text-delta', delta: ' it is' }
        whole = true
      } finally {
        if (!whole) ends()
      }
      return { ...partial, content: [{ type: 'text', text: 'So it is' }], finishReason: 'stop' }
    },
  }
}

const breakingOff = () => {
  throw new ModelError('no', { code: 'overloaded', retryable: true, status: 529, partial })
}

/** Reads this many events of a first attempt, reads one more if it leaves while that is awaited, and then makes another attempt. */
const leaving = (taken: number, waiting: boolean): Middleware => ({
  name: 'leaving',
  async *wrapModel(request, next) {
    const first = next(request)
    for (let step = 0; step < taken; step++) await first.next()
    const asked = waiting ? first.next().catch(() => undefined) : undefined
    await first.return(partial).catch(() => undefined)
    await asked
    return yield* next(request)
  },
})

const leavings = [
  ['between two events', () => undefined, leaving(1, false)],
  ['while an event is awaited', () => undefined, leaving(1, true)],
  ['and whose model throws what had come of its response', breakingOff, leaving(1, false)],
  ['while an event is awaited, and whose model throws that', breakingOff, leaving(1, true)],
] as const

test.for(leavings)(
  'an attempt that its wrap has left, %s, is cancelled: it has neither an error nor a response',
  async ([_, ends, middleware]) => {
    const { telemetry, spans, points, watch } = observed()
    const agent = createAgent({ model: modelThat(ends), middleware: [middleware], telemetry })
    const result = await agent.run('Go')
    expect(result).toMatchObject({ text: 'So it is', usage })
    watch.assertEndedOnce()
    const asked = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'own',
      'gen_ai.request.model': 'own-1',
    }
    const place = { 'gen_ai.request.stream': true, 'meanwhile.step.index': 1 }
    const chats = spans().filter(({ name }) => name === 'chat own-1')
    expect(chats.map(({ attributes, status, events }) => ({ attributes, status, events }))).toEqual([
      {
        attributes: {
          ...asked,
          ...place,
          'gen_ai.response.time_to_first_chunk': expect.any(Number),
          'meanwhile.attempt': 1,
          'meanwhile.tool_calls.early': 0,
          'meanwhile.outcome': 'cancelled',
        },
        status: { code: 0 },
        events: [],
      },
      {
        attributes: {
          ...asked,
          ...place,
          'gen_ai.response.id': 'r-1',
          'gen_ai.response.model': 'own-1-0925',
          'gen_ai.response.finish_reasons': ['stop'],
          'gen_ai.response.time_to_first_chunk': expect.any(Number),
          'gen_ai.usage.input_tokens': 3,
          'gen_ai.usage.output_tokens': 2,
          'meanwhile.attempt': 2,
          'meanwhile.tool_calls.early': 0,
          'meanwhile.outcome': 'completed',
        },
        status: { code: 0 },
        events: [],
      },
    ])
    const all = await points()
    const measured = (name: string) =>
      all.filter((point) => point.name === name).map(({ attributes, count, sum }) => ({ attributes, of: count ?? sum }))
    const answered = { ...asked, 'gen_ai.response.model': 'own-1-0925' }
    expect(measured('gen_ai.client.inference.duration')).toEqual([
      { attributes: asked, of: 1 },
      { attributes: answered, of: 1 },
    ])
    expect(measured('gen_ai.client.inference.usage.input_tokens')).toEqual([
      { attributes: { ...asked, 'gen_ai.token.modality': 'unknown' }, of: 0 },
      { attributes: { ...answered, 'gen_ai.token.modality': 'unknown' }, of: 3 },
    ])
  },
)
