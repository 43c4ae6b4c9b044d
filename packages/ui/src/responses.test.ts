import { createAgent } from '@meanwhile/core'
import { respond, say, scriptedModel } from '@meanwhile/core/testing'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { chat } from '../test/agent.ts'
import { doors, ROUTES } from '../test/doors.ts'
import { post } from '../test/page.ts'
import { told } from '../test/told.ts'
import { agUiHandler, toAgUiStreamResponse } from './ag-ui/index.ts'
import { chatHandler, toUIMessageStreamResponse } from './ai-sdk/index.ts'

const PLAIN = { cache: 'private, no-store', sniff: 'nosniff' }
const STREAM = { cache: 'no-store, no-transform', sniff: 'nosniff' }

const headersOf = ({ headers }: Response) => ({
  cache: headers.get('cache-control'),
  sniff: headers.get('x-content-type-options'),
})

const isStream = ({ headers }: Response) => headers.get('content-type') === 'text/event-stream'

test.for(Object.keys(ROUTES))('no cache keeps the response of %s, and none of a refusal (W58)', async (route) => {
  const { ask } = await doors({})
  const response = await ask(route)
  await response.text()
  expect(headersOf(response)).toEqual(isStream(response) ? STREAM : PLAIN)
  for (const init of [{ method: 'PUT' }, { headers: { 'content-type': 'text/plain' } }]) {
    const refused = await ask(route, init)
    if (!isStream(refused)) expect([refused.status, headersOf(refused)]).toEqual([refused.status, PLAIN])
    await refused.body?.cancel()
  }
  const { ask: closed } = await doors({ allow: () => null as never, onError: () => undefined })
  expect(headersOf(await closed(route))).toEqual(PLAIN)
})

test('no cache keeps the stream of a run without threads (W58)', () => {
  const agent = createAgent({ model: scriptedModel([respond(say('Hi.')), respond(say('Hi.'))]) })
  const run = { threadId: 't', runId: 'r', messages: [] }
  for (const response of [toUIMessageStreamResponse(agent.stream('Hi')), toAgUiStreamResponse(agent.stream('Hi'), run)])
    expect(headersOf(response)).toEqual(STREAM)
})

const STOPS = ['chat: stop', 'ag-ui: stop']

const json = { 'content-type': 'application/json' }

test.for([
  [{ 'sec-fetch-site': 'cross-site' }, 403],
  [{ 'sec-fetch-site': 'cross-site', origin: 'http://chat.test' }, 403],
  [{ 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' }, 403],
  [{ 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' }, 403],
  [{ origin: 'https://evil.example' }, 403],
  [{ origin: 'http://chat.test:8080' }, 403],
  [{ origin: 'null' }, 403],
  [{ 'sec-fetch-site': 'cross-site', ...json }, 204],
  [{ origin: 'https://evil.example', ...json }, 204],
  [{ 'sec-fetch-site': 'same-origin' }, 204],
  [{ 'sec-fetch-site': 'same-site', origin: 'https://app.chat.test' }, 204],
  [{ 'sec-fetch-site': 'none' }, 204],
  [{ origin: 'http://chat.test' }, 204],
  [{ origin: 'https://chat.example', host: 'chat.example' }, 204],
  [{}, 204],
] as const)('a stop with the headers %j has the status %i (W58)', async ([headers, status]) => {
  for (const route of STOPS) {
    const { used, ask } = await doors({})
    const response = await ask(route, { headers })
    expect([route, response.status]).toEqual([route, status])
    if (status === 403) expect(used).toEqual([])
  }
})

test('a message that the queue has no room for is 429, in both handlers (W59)', async () => {
  const { agent, open: go } = chat()
  const threads = createThreads({ agent, store: memoryThreads(), maxQueued: 1 })
  await threads.send('t', 'slow', { messageId: 'm0' })
  await threads.send('t', 'hello', { messageId: 'm1' })
  const before = await threads.read('t')
  const options = { threads, open: () => undefined }
  const said = await post(chatHandler(options), '', {
    id: 't',
    messages: [{ id: 'm2', role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
  })
  const text = 'Too many messages wait in this thread.'
  expect([said.status, await told(said)]).toEqual([429, ['QueueFullError', text]])
  const run = { threadId: 't', runId: 'r', messages: [{ id: 'm2', role: 'user', content: 'hello' }] }
  const body = JSON.stringify(run)
  const refused = await agUiHandler(options)(
    new Request('http://chat.test/api/ag-ui', { method: 'POST', headers: json, body }),
  )
  expect([refused.status, await told(refused)]).toEqual([429, ['QueueFullError', text]])
  expect(await threads.read('t')).toEqual(before)
  go()
  await threads.close()
})
