import { respond, say } from '@meanwhile/assemble/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testLoadedScripts } from '../test/loaded-scripts.ts'
import { bodyFor } from '../test/requests.ts'
import { formatRecording } from './record/recording.ts'
import { replayRecording } from './record/replay-recording.ts'
import { refused } from './refusing.ts'
import type { ModelServer } from './serve-models.ts'
import { spawnModelServer } from './spawn-model-server.ts'

let server: ModelServer

/** One process for all tests, with its own script. */
beforeAll(async () => {
  server = await spawnModelServer({ script: [respond(say('Hello'))] })
})

afterAll(() => server.close())

function post(url: string, more: object = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', body: bodyFor('openai-chat', more) })
}

testLoadedScripts('a child process', () => server)

test('a pattern is passed to the process, including RegExps; a function is refused', async () => {
  const turn = respond(say('Hello'))
  const served = await server.load({ script: [{ ...turn, expect: { body: { model: /^claude/ } } }] })
  expect((await post(served.url, { model: 'gpt' })).status).toBe(500)
  await expect(served.assertComplete()).rejects.toThrow('body.model: expected /^claude/, got "gpt"')

  const script = [{ ...turn, expect: () => {} }]
  await expect(server.load({ script })).rejects.toThrow('a script for another process must be data')
  await expect(spawnModelServer({ script })).rejects.toThrow('a script for another process must be data')
})

test('the process replays recordings, too', async () => {
  const body = { model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
  const response = {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    frames: [{ at: 0, bytes: Buffer.from('data: 東\n\n') }],
    end: [0, 'complete'] as const,
  }
  const request = { wire: 'openai-chat', path: '/v1/chat/completions', headers: {}, body } as const
  const served = await server.load({ script: replayRecording(formatRecording([{ request, response }])) })
  const replayed = await fetch(`${served.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) })
  expect(await replayed.text()).toBe('data: 東\n\n')
})

test('the process refuses, too, and its script may expect it (W23)', async () => {
  const tool_calls = [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }]
  const unanswered = {
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls },
    ],
  }
  expect((await post(server.url, unanswered)).status).toBe(400)
  await expect(server.assertComplete()).rejects.toThrow('chat/call-without-result')
  await using served = await server.load({ script: [refused('chat/call-without-result')], rules: { host: 'openai' } })
  expect((await post(served.url, unanswered)).status).toBe(400)
  await served.assertComplete()
})

test('the process ends when the signal aborts, and pending requests to it reject with this reason', async () => {
  const aborter = new AbortController()
  const aborted = await spawnModelServer({ signal: aborter.signal })
  aborter.abort()
  await expect(aborted.log()).rejects.toThrow()
  await aborted.close()
})

test('a closed process responds to nothing', async () => {
  const closed = await spawnModelServer()
  await closed.close()
  await expect(closed.load({ script: [] })).rejects.toThrow()
})
