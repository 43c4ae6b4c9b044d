import { respond, say } from '@meanwhile/assemble/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { listen } from '../test/listen.ts'
import { type MockModelsOptions, mockModels } from './msw.ts'
import { rawResponse } from './raw.ts'

afterEach(() => {
  vi.useRealTimers()
})

async function play(options: MockModelsOptions) {
  vi.useFakeTimers()
  const mock = mockModels(options)
  const heard = listen(mock, 'openai-chat')
  await vi.advanceTimersByTimeAsync(1_000)
  const [log] = mock.responses
  const times = log?.writes.map(({ sent }) => sent - log.arrived)
  return { ...(await heard), times, ended: (log?.end ?? Number.NaN) - (log?.arrived ?? 0) }
}

test('steps follow one another, at their own time, or as tokens', async () => {
  const pace = { firstToken: 100, betweenTokens: 10 }
  const script = [
    rawResponse([
      { bytes: 'a' },
      { bytes: 'b' },
      { after: 5, bytes: 'c' },
      { at: 200, bytes: 'd' },
      { after: 50, end: 'complete' },
    ]),
  ]
  expect(await play({ script, pace })).toMatchObject({ body: 'abcd', times: [100, 110, 115, 200], ended: 250 })
})

test('an event has the frame of its wire, damaged or not; bytes have none', async () => {
  const script = [
    rawResponse([
      { event: { type: 'ping' } },
      { event: '{"cut' },
      { bytes: 'dta: what?\n\n' },
      { bytes: Uint8Array.of(0x0a) },
    ]),
  ]
  const chat = await listen(mockModels({ script }), 'openai-chat')
  expect(chat.body).toBe('data: {"type":"ping"}\n\ndata: {"cut\n\ndta: what?\n\n\n')
  const anthropic = await listen(mockModels({ script }), 'anthropic')
  expect(anthropic.body).toBe('event: ping\ndata: {"type":"ping"}\n\ndata: {"cut\n\ndta: what?\n\n\n')
})

test('no step after the end is played', async () => {
  const script = [rawResponse([{ bytes: 'a' }, { end: 'complete' }, { bytes: 'b' }])]
  expect(await listen(mockModels({ script }), 'openai-chat')).toMatchObject({ body: 'a' })
})

test('a raw response’s own pace and slice override those of the script', async () => {
  const options = { pace: { firstToken: 7, betweenTokens: 0 }, slice: { bytes: 1 } } as const
  const script = [rawResponse([{ bytes: 'abc' }], options)]
  expect(await play({ script, pace: { firstToken: 50, betweenTokens: 0 } })).toMatchObject({ times: [7, 7, 7] })
})

test('a bad chunk in a body that is not chunked is an error of the script', async () => {
  const mock = mockModels({ script: [rawResponse([{ end: 'bad-chunk' }], { framing: 'close' })] })
  expect(await listen(mock, 'openai-chat')).toMatchObject({ status: 500 })
  expect(() => mock.assertComplete()).toThrow('a body that is not chunked cannot have a bad chunk')
})

const whole = 'data: 1\n\ndata: 2\n\ndata: 3\n\n'
const three = rawResponse([{ event: '1' }, { event: '2' }, { event: '3' }])

test.for([
  { after: { events: 2 }, body: 'data: 1\n\ndata: 2\n\n' },
  { after: { events: 9 }, body: whole },
  { after: { bytes: 13 }, body: 'data: 1\n\ndata' },
  { after: { bytes: 9 }, body: 'data: 1\n\n' },
  { after: 'headers', body: '' },
] as const)('a fault after $after keeps everything before it', async ({ after, body }) => {
  const mock = mockModels({ script: [{ ...three, fault: { after, end: 'complete' } }] })
  expect(await listen(mock, 'openai-chat')).toMatchObject({ status: 200, body })
  expect(mock.responses[0]).not.toHaveProperty('broken')
})

test('a fault at the beginning comes in place of the headers', async () => {
  const mock = mockModels({ script: [{ ...respond(say('never')), fault: { end: 'reset' } }] })
  const { status, error } = await listen(mock, 'openai-chat')
  expect([status, error?.message]).toEqual([undefined, 'fetch failed'])
  expect(mock.responses[0]).toMatchObject({ broken: 'reset', writes: [] })
})

test('a scripted response breaks off like any other, with its own pace', async () => {
  const fault = { after: { events: 3 }, end: 'complete' } as const
  const script = [{ ...respond(say('a b c d')), fault }]
  const { body, times } = await play({ script, pace: { firstToken: 50, betweenTokens: 20 } })
  expect([...body.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text)).toEqual(['', 'a', ' b'])
  expect(times).toEqual([50, 50, 70])
})
