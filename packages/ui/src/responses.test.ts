import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
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

/** The same message as requests to both handlers. */
const messages = {
  chat: (id: string) => ({ id, messages: [{ id: 'new', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] }),
  agUi: (threadId: string) => ({ threadId, runId: 'r', messages: [{ id: 'new', role: 'user', content: 'hello' }] }),
}

test('a message is refused by allow, by open, with 429 and with 503, in this order and before anything is stored, in both handlers (W63)', async () => {
  const { agent, open: go } = chat()
  const threads = createThreads({ agent, store: memoryThreads(), maxRunning: 1, maxWaiting: 1, maxQueued: 1 })
  await threads.send('full', 'slow')
  await threads.send('full', 'hello')
  const waiting = await threads.send('waits', 'hello', { messageId: 'new' })
  const before = await threads.read('full')
  const ask = async (thread: string, doors: object = {}) => {
    const options = { threads, open: () => undefined, ...doors }
    const agUi = new Request('http://chat.test/api/ag-ui', {
      method: 'POST',
      headers: json,
      body: JSON.stringify(messages.agUi(thread)),
    })
    return [await post(chatHandler(options), '', messages.chat(thread)), await agUiHandler(options)(agUi)]
  }
  const statuses = async (thread: string, doors?: object) => {
    const responses = await ask(thread, doors)
    for (const response of responses) await response.body?.cancel()
    return responses.map(({ status, headers }) => [status, headers.get('retry-after')])
  }
  const no = (status: number) => () => new Response(null, { status })
  for (const thread of ['full', 'new']) {
    expect(await statuses(thread, { allow: no(402), open: no(403) })).toEqual([
      [402, null],
      [402, null],
    ])
    expect(await statuses(thread, { open: no(403) })).toEqual([
      [403, null],
      [403, null],
    ])
  }
  expect(await statuses('full')).toEqual([
    [429, null],
    [429, null],
  ])
  expect(await statuses('new')).toEqual([
    [503, '5'],
    [503, '5'],
  ])
  const text = 'Too many turns wait on this server. Try again later.'
  const refused = ['TooManyTurnsError', text]
  expect(await Promise.all((await ask('new')).map(told))).toEqual([refused, refused])
  expect(await threads.read('full')).toEqual(before)
  expect((await threads.list()).map(({ id }) => id)).toEqual(['waits', 'full'])
  // The message is known, so the page only joins its turn; and a read or a stop needs no room.
  expect(await statuses('waits')).toEqual([
    [200, null],
    [200, null],
  ])
  const handler = chatHandler({ threads, open: () => undefined })
  const rejoined = await handler(new Request('http://chat.test/api/chat/waits/stream'))
  expect(rejoined.status).toBe(200)
  await rejoined.body?.cancel()
  expect((await post(handler, '/waits/stop', {})).status).toBe(204)
  expect(await waiting.result).toMatchObject({ status: 'stopped' })
  go()
  await threads.close()
})

test('a message of AG-UI with which a question is cancelled stops the turn that asks, and stops nothing if it is refused (W63)', async () => {
  const { agent, open: go } = chat()
  const threads = createThreads({ agent, store: memoryThreads(), maxRunning: 1, maxWaiting: 1 })
  const asking = await threads.send('t', 'ask')
  const { interrupts = [] } = await asking.result
  await threads.send('busy', 'slow')
  const waiting = await threads.send('waits', 'hello')
  const before = await threads.read('t')
  const refused: (string | undefined)[] = []
  const actions: string[] = []
  const ask = async (more: object = {}) => {
    const handler = agUiHandler({
      threads,
      async open(_request, _thread, { action, turn }) {
        actions.push(`${action} ${(await turn())?.id === asking.id}`)
        return refused.includes(action) ? new Response(null, { status: 403 }) : undefined
      },
    })
    const resume = interrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' }))
    const body = JSON.stringify({ ...messages.agUi('t'), resume, ...more })
    return handler(new Request('http://chat.test/api/ag-ui', { method: 'POST', headers: json, body }))
  }
  for (const action of ['answer', 'send', 'stop']) {
    refused.splice(0, 1, action)
    expect((await ask()).status).toBe(403)
  }
  refused.length = 0
  actions.length = 0
  expect((await ask()).status).toBe(503)
  expect(actions).toEqual(['answer true', 'send true', 'stop true'])
  expect((await ask({ forwardedProps: { retry: true } })).status).toBe(409)
  expect(await threads.read('t')).toEqual(before)
  await threads.stop('waits')
  await waiting.result
  const response = await ask()
  expect(response.status).toBe(200)
  go()
  await response.text()
  const { turns } = await threads.read('t')
  expect(turns).toMatchObject([{ id: asking.id, status: 'stopped' }, { status: 'completed' }])
  await threads.close()
})

test('a message of AG-UI with which a question is cancelled may replace an earlier message (W52)', async () => {
  const threads = createThreads({ agent: chat().agent, store: memoryThreads() })
  await (await threads.send('t', 'hello', { messageId: 'new' })).result
  const { interrupts = [] } = await (await threads.send('t', 'ask')).result
  const actions: unknown[] = []
  const handler = agUiHandler({
    threads,
    open: async (_request, _thread, { action, turn }) => void actions.push([action, (await turn())?.messageId]),
  })
  const resume = interrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' }))
  const body = JSON.stringify({ ...messages.agUi('t'), resume, forwardedProps: { rewind: 'new' } })
  const asking = (await threads.read('t')).turns.at(-1)?.messageId
  const response = await handler(new Request('http://chat.test/api/ag-ui', { method: 'POST', headers: json, body }))
  expect(response.status).toBe(200)
  await response.text()
  expect(actions).toEqual([
    ['answer', asking],
    ['rewind', 'new'],
  ])
  expect((await threads.read('t')).turns).toMatchObject([{ messageId: 'new', status: 'completed' }])
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
