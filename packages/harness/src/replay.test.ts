import { expect, test } from 'vitest'
import { bodyFor } from '../test/requests.ts'
import type { Slice } from './cutter.ts'
import { mockModels } from './msw.ts'
import { recordedResponse, recordedResponses } from './replay.ts'
import { WIRES } from './wires/wires.ts'

const chunk = '{"choices":[{"index":0,"delta":{"content":"東"}}]}'
const stop = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'

function post(wire: keyof typeof WIRES) {
  return new Request(`http://models.test${WIRES[wire].path}`, { method: 'POST', body: bodyFor(wire) })
}

test('a recording of chat is served unchanged, followed by the end of the protocol', async () => {
  const mock = mockModels({ script: [recordedResponse('openai-chat', `${chunk}\n${stop}\n`)] })
  const response = await mock.fetch(post('openai-chat'))
  expect(await response.text()).toBe(`data: ${chunk}\n\ndata: ${stop}\n\ndata: [DONE]\n\n`)
})

test('a recording whose events have types is served with their names', async () => {
  const events = ['{"type":"message_start","message":{}}', '{"type":"message_stop"}']
  const mock = mockModels({ script: [recordedResponse('anthropic', events)] })
  const response = await mock.fetch(post('anthropic'))
  expect(await response.text()).toBe(
    `event: message_start\ndata: ${events[0]}\n\nevent: message_stop\ndata: ${events[1]}\n\n`,
  )
})

test.for<Slice>(['event', 'whole', { bytes: 1 }, { bytes: 10 }])('cut by %o it is the same text', async (slice) => {
  const mock = mockModels({ script: [recordedResponse('openai-chat', [chunk], { slice })] })
  const response = await mock.fetch(post('openai-chat'))
  expect(await response.text()).toBe(`data: ${chunk}\n\ndata: [DONE]\n\n`)
})

test('a recording can be paced: each event is a token', async () => {
  const pace = { firstToken: 2, betweenTokens: 1 }
  const mock = mockModels({ script: [recordedResponse('openai-chat', [chunk, stop], { pace })] })
  await (await mock.fetch(post('openai-chat'))).text()
  const { arrived = 0, writes = [] } = mock.responses[0] ?? {}
  expect(writes.map(({ due }) => Math.round(due - arrived))).toEqual([2, 3, 3])
})

test('a file with several responses becomes several recordings', () => {
  const lines = ['{"type":"response.created","n":1}', '{"type":"x"}', '{"type":"response.created","n":2}']
  expect(recordedResponses('openai-responses', lines).map(({ events }) => events)).toEqual([
    [lines[0], lines[1]],
    [lines[2]],
  ])
  expect(recordedResponses('openai-chat', [chunk, stop])).toHaveLength(1)
})

test('a recording responds on its own wire only', async () => {
  const mock = mockModels({ script: [recordedResponse('anthropic', [])] })
  const response = await mock.fetch(post('openai-chat'))
  expect(response.status).toBe(500)
  expect(() => mock.assertComplete()).toThrow(
    'response 1 of the script is a recording of anthropic and requires POST /v1/messages',
  )
})
