import { call, fail, respond, say } from '@meanwhile/assemble/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { clients } from '../../test/clients.ts'
import { transports } from '../../test/transports.ts'
import { mockModels } from '../msw.ts'
import { rawResponse } from '../raw.ts'
import type { ScriptedReply } from '../script.ts'
import { recordModels } from './record-models.ts'
import { formatRecording, parseRecording, type RecordedExchange } from './recording.ts'
import { replayRecording } from './replay-recording.ts'

const url = 'http://models.test/v1/messages'

const body = (content: string, more: object = {}) => ({
  model: 'claude',
  max_tokens: 100,
  stream: true,
  messages: [{ role: 'user', content }],
  ...more,
})

const ask = (send: typeof fetch, content: string, more?: object, to = url) =>
  send(to, { method: 'POST', body: JSON.stringify(body(content, more)) })

function exchange(
  content: string,
  frames: readonly (readonly [number, string])[],
  more: object = {},
): RecordedExchange {
  return {
    request: { wire: 'anthropic', path: '/v1/messages', headers: {}, body: body(content, more) },
    response: {
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      frames: frames.map(([at, text]) => ({ at, bytes: Buffer.from(text) })),
      end: [frames.at(-1)?.[0] ?? 0, 'complete'],
    },
  }
}

const everywhere = transports.flatMap((transport) =>
  clients.map((client) => ({ transport, client, over: transport.name, wire: client.wire })),
)

test.for(everywhere)('$wire over $over: a replay sends what was recorded', async ({ transport, client }) => {
  const script: ScriptedReply[] = [
    respond(fail({ status: 429, code: 'rate_limit_error', message: 'slow down', retryAfter: 1 })),
    respond(say('It is sunny — 東京.'), call('weather', { city: 'Zürich' })),
  ]
  const recorder = recordModels({ upstream: mockModels({ script, slice: { bytes: 5 } }).fetch })
  const heard = await client.read({ fetch: recorder.fetch, url: 'http://upstream.test' }, { maxRetries: 1 })

  const stage = await transport.serve({
    script: replayRecording(recorder.recording(), { speed: Number.POSITIVE_INFINITY }),
  })
  expect(await client.read(stage, { maxRetries: 1 })).toEqual(heard)
  await stage.assertComplete()
})

test.for([
  { speed: 1, due: [100, 250, 250] },
  { speed: 2.5, due: [40, 100, 100] },
  { speed: Number.POSITIVE_INFINITY, due: [0, 0, 0] },
])('at speed $speed the pieces are sent when they are due', async ({ speed, due }) => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const recording = formatRecording([
    exchange('Hi', [
      [100, 'data: 1\n\n'],
      [250, 'data: '],
      [250, '2\n\n'],
    ]),
  ])
  const mock = mockModels({ script: replayRecording(recording, { speed }) })
  const reading = ask(mock.fetch, 'Hi').then((response) => response.text())
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await reading).toBe('data: 1\n\ndata: 2\n\n')
  const [log] = mock.responses
  expect(log?.writes.map((write) => write.due - log.arrived)).toEqual(due)
  expect(log?.writes.map((write) => write.sent - log.arrived)).toEqual(due)
})

test('another request is refused, with its differences', async () => {
  const recording = formatRecording([exchange('Hi', [[0, 'data: 1\n\n']])])
  const mock = mockModels({ script: replayRecording(recording) })
  const response = await ask(mock.fetch, 'Ho', { temperature: 1 })
  expect(response.status).toBe(500)
  expect(() => mock.assertComplete()).toThrow(
    [
      `request 1 (POST ${url}) does not match what response 1 of the script (recorded from /v1/messages) expects:`,
      '  body.messages[0].content: expected "Hi", got "Ho"',
      '  body.temperature: expected nothing, got 1',
    ].join('\n'),
  )
})

test('requests in another order get their own responses, equal ones in the order of the recording', async () => {
  const recording = formatRecording([
    exchange('a', [[0, 'data: a1\n\n']]),
    exchange('b', [[0, 'data: b\n\n']]),
    exchange('a', [[0, 'data: a2\n\n']]),
  ])
  const mock = mockModels({ script: replayRecording(recording) })
  const texts = await Promise.all(['b', 'a', 'a'].map(async (content) => (await ask(mock.fetch, content)).text()))
  expect(texts).toEqual(['data: b\n\n', 'data: a1\n\n', 'data: a2\n\n'])
  mock.assertComplete()
})

test('unused responses are named', async () => {
  const recording = formatRecording([exchange('a', []), exchange('b', [])])
  const mock = mockModels({ script: replayRecording(recording) })
  await ask(mock.fetch, 'b')
  expect(() => mock.assertComplete()).toThrow('1 of 2 responses was not used: response 1 (recorded from /v1/messages)')
})

test('a removed secret matches any text; otherwise only ignored members may differ', async () => {
  const recording = formatRecording([
    exchange('key [redacted], org [redacted]!', [], { metadata: { user_id: 'one', plan: 'a' } }),
  ])
  const replay = (ignore: string[]) => mockModels({ script: replayRecording(recording, { ignore }) }).fetch
  const metadata = { user_id: 'two', plan: 'a' }
  expect((await ask(replay(['body.metadata.user_id']), 'key k, org o!', { metadata })).status).toBe(200)
  expect((await ask(replay(['body.metadata.user']), 'key k, org o!', { metadata })).status).toBe(500)
  expect((await ask(replay(['body.metadata']), 'key k, org o?', { metadata })).status).toBe(500)
})

test('parameters are part of a request, its origin is not', async () => {
  const { request, response } = exchange('Hi', [])
  const recording = formatRecording([{ request: { ...request, path: '/proxy/v1/messages?beta=1' }, response }])
  const replay = () => mockModels({ script: replayRecording(recording) }).fetch
  expect((await ask(replay(), 'Hi', {}, `${url}?beta=1`)).status).toBe(200)
  expect((await ask(replay(), 'Hi')).status).toBe(500)
})

test('a response that broke off in the recording breaks off in the replay', async () => {
  const script = [
    rawResponse([{ bytes: 'data: 1\n\n' }, { end: 'reset' }]),
    rawResponse([{ bytes: '' }, { end: 'fin' }]),
  ]
  const recorder = recordModels({ upstream: mockModels({ script }).fetch })
  for (const content of ['a', 'b'])
    await expect((await ask(recorder.fetch, content)).text()).rejects.toThrow('terminated')
  const mock = mockModels({ script: replayRecording(recorder.recording()) })
  for (const content of ['a', 'b']) await expect((await ask(mock.fetch, content)).text()).rejects.toThrow('terminated')
  mock.assertComplete()
})

test('the file is the same for the same exchanges, and has the same content when it is read', () => {
  const exchanges = [
    exchange('Hi 東', [
      [0, 'data: 1\n\n'],
      [1.5, ''],
    ]),
    exchange('Ho', []),
  ]
  const text = formatRecording(exchanges)
  expect(text.slice(0, 70)).toBe('{\n  "format": "meanwhile recording",\n  "version": 1,\n  "exchanges": [\n')
  expect(formatRecording(parseRecording(text))).toBe(text)
})

test.for([
  ['', 'it is not JSON'],
  ['[]', 'it is not an object'],
  ['{"format":"har"}', 'its format is not "meanwhile recording"'],
  ['{"format":"meanwhile recording","version":2}', 'this recording has version 2; only version 1 is supported'],
  [
    '{"format":"meanwhile recording","version":1,"exchanges":[{"request":{"wire":"x"}}]}',
    'exchanges[0].request.wire is not one of',
  ],
] as const)('a text that is not a recording of this version is refused: %s', ([text, message]) => {
  expect(() => parseRecording(text)).toThrow(expect.objectContaining({ name: 'RecordingFormatError' }))
  expect(() => parseRecording(text)).toThrow(message)
})
