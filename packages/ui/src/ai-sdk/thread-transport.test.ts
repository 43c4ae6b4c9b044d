import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, textOf, tool } from '@meanwhile/core'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import type { UIMessage } from 'ai'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { gate } from '../../test/gate.ts'
import { compared, history, Page, post, settled } from '../../test/page.ts'
import { chatHandler } from './index.ts'
import { ReplacedBranchError, threadTransport } from './thread-transport.ts'

function chat() {
  const { opened, open } = gate()
  const slow = tool({
    name: 'slow',
    description: 'Waits.',
    input: z.object({}),
    execute: (_, { signal }) =>
      Promise.race([
        opened,
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ]).then(() => 'done'),
  }) as Tool
  const pick = tool({ name: 'pick', description: 'Picks a colour.', input: z.object({}) }) as Tool
  const read: (readonly string[])[] = []
  const model = scriptedModel(
    Array.from({ length: 20 }, () => ({ messages }) => {
      read.push(messages.map((message) => textOf(message)))
      const last = messages.at(-1)
      const text = last ? textOf(last) : ''
      if (text === 'pick') return respond(call('slow', {}), call('pick', {}, { id: 'c' }))
      return text === 'slow' ? respond(say('I wait.'), call('slow', {})) : respond(say(`You said ${text}.`))
    }),
  )
  const threads = createThreads({ agent: createAgent({ model, tools: [slow, pick] }), store: memoryThreads() })
  const handler = chatHandler({ threads, open: () => undefined })
  const asked: string[] = []
  /** A request reaches the server after this. */
  let arrival: Promise<void> | undefined
  const delay = (until: Promise<void>) => {
    arrival = until
  }
  const fetching = async (url: string | URL | Request, init?: RequestInit) => {
    const request = new Request(url, init)
    asked.push(`${request.method} ${new URL(request.url).pathname}`)
    const { signal } = request
    await arrival
    signal.throwIfAborted()
    const response = await handler(request)
    signal.throwIfAborted()
    return response.body
      ? new Response(response.body.pipeThrough(new TransformStream(), { signal }), response)
      : response
  }
  const page = (messages: UIMessage[] = []) => {
    const api = 'http://chat.test/api/chat'
    const transport = threadTransport({ api, fetch: fetching as typeof fetch, loaded: messages, headers: { a: 'b' } })
    return new Page(handler, 't', messages, { transport })
  }
  return { threads, handler, page, read, asked, open, delay }
}

/** A state lasts until the test goes on, however slow the machine is. */
const PATIENT = { timeout: 20_000 }

const texts = (messages: readonly UIMessage[]) =>
  messages.map(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join())

test('a page that cuts its list and sends edits the message, also as its first request, and page, thread and model are equal (W36)', async () => {
  const { threads, handler, page, read } = chat()
  const first = page()
  for (const text of ['a', 'b', 'c']) await first.sendMessage({ text })
  const loaded = page(await history(handler, 't'))
  for (const [one, from, text] of [
    [first, 2, 'b2'],
    [loaded, 0, 'a2'],
    [loaded, 0, 'a3'],
  ] as const) {
    one.messages = one.messages.slice(0, from)
    await one.sendMessage({ text })
    expect(compared(one.messages)).toEqual(compared(await history(handler, 't')))
    expect(texts(one.messages).at(-1)).toBe(`You said ${text}.`)
    expect(read.at(-1)).toEqual(texts(one.messages).slice(0, -1))
  }
  await loaded.sendMessage({ text: 'd' })
  expect(read.at(-1)).toEqual(['a3', 'You said a3.', 'd'])
  expect((await threads.read('t')).turns).toHaveLength(2)
})

test('a page that has cut nothing adds its message, also if another tab has added messages that it does not show (W36)', async () => {
  const { handler, page } = chat()
  const [one, two] = [page(), page()]
  await one.sendMessage({ text: 'a' })
  await two.sendMessage({ text: 'b' })
  await one.sendMessage({ text: 'c' })
  expect(texts(await history(handler, 't')).filter((_, place) => place % 2 === 0)).toEqual(['a', 'b', 'c'])
})

test('a page that has loaded the chat again, after another tab has edited it, adds its message (W36)', async () => {
  const { handler, page, read } = chat()
  const one = page()
  for (const text of ['a', 'b']) await one.sendMessage({ text })
  const two = page(await history(handler, 't'))
  two.messages = two.messages.slice(0, 2)
  await two.sendMessage({ text: 'b2' })
  one.messages = await history(handler, 't')
  await one.sendMessage({ text: 'c' })
  expect(one.error).toBeUndefined()
  expect(compared(one.messages)).toEqual(compared(await history(handler, 't')))
  expect(read.at(-1)).toEqual(['a', 'You said a.', 'b2', 'You said b2.', 'c'])
})

test('a page that hides a message while it answers shows it again later, and can send (W36)', async () => {
  const { handler, threads, page, open } = chat()
  const asked = page().sendMessage({ text: 'pick' })
  await vi.waitFor(async () => expect((await threads.read('t')).status).toBe('running'), PATIENT)
  const queued = await threads.send('t', 'later')
  open()
  await asked
  // The message waits for the answer, so the page takes it out of its list until then.
  const one = page(await history(handler, 't'))
  expect(texts(one.messages).at(-1)).toBe('later')
  one.messages = one.messages.slice(0, 2)
  await one.addToolOutput({ tool: 'pick', toolCallId: 'c', output: 'red' })
  await queued.result
  await settled(one)
  one.messages = await history(handler, 't')
  await one.sendMessage({ text: 'a' })
  expect(one.error).toBeUndefined()
  expect(texts(await history(handler, 't'))).toEqual(texts(one.messages))
})

test('regenerate and edit of useChat replace the turn, and a branch that was replaced is refused (W36)', async () => {
  const { handler, page } = chat()
  const one = page()
  await one.sendMessage({ text: 'a' })
  const before = one.messages
  await one.regenerate()
  const after = one.messages
  expect(after.at(-1)?.id).not.toBe(before.at(-1)?.id)
  expect(compared(after)).toEqual(compared(await history(handler, 't')))
  one.messages = before
  await one.sendMessage({ text: 'b' })
  expect(one.error).toBeInstanceOf(ReplacedBranchError)
  expect(compared(await history(handler, 't'))).toEqual(compared(after))
  one.messages = after
  await one.sendMessage({ text: 'b' })
  await one.sendMessage({ text: 'a2', messageId: one.messages[0]?.id ?? '' })
  expect(texts(one.messages)).toEqual(['a2', 'You said a2.'])
  expect(compared(one.messages)).toEqual(compared(await history(handler, 't')))
})

test('a messageId of another message replaces it, once for each new message, and an unknown one is 404 (W36)', async () => {
  const { handler, page } = chat()
  const one = page()
  for (const text of ['a', 'b']) await one.sendMessage({ text })
  const [first] = one.messages
  const edit = { id: 'new', role: 'user', parts: [{ type: 'text', text: 'a2' }] }
  const send = (messageId: unknown) => post(handler, '', { id: 't', messages: [edit], messageId })
  for (const _ of [1, 2]) await (await send(first?.id)).text()
  expect(texts(await history(handler, 't'))).toEqual(['a2', 'You said a2.'])
  const statuses = await Promise.all(
    ['nobody', 7].map(
      async (id) => (await post(handler, '', { id: 't', messages: [{ ...edit, id: 'x' }], messageId: id })).status,
    ),
  )
  expect(statuses).toEqual([404, 400])
  expect(texts(await history(handler, 't'))).toHaveLength(2)
})

test('the stop button of a page stops the turn, and the next message does not wait behind it (W36)', async () => {
  const { handler, threads, page, asked } = chat()
  const one = page()
  const sent = one.sendMessage({ text: 'slow' })
  await vi.waitFor(() => expect(texts(one.messages).at(-1)).toBe('I wait.'), PATIENT)
  await one.stop()
  await sent
  await one.sendMessage({ text: 'b' })
  expect(asked).toEqual(['POST /api/chat', 'POST /api/chat/t/stop', 'POST /api/chat'])
  expect((await threads.read('t')).turns.map(({ status }) => status)).toEqual(['stopped', 'completed'])
  expect(texts(await history(handler, 't')).at(-1)).toBe('You said b.')
})

test('a stop before the response has begun reaches the turn of its message, and the next message comes after it (W36)', async () => {
  const { handler, threads, page, asked, delay } = chat()
  const { opened: arrival, open: arrive } = gate()
  delay(arrival)
  const one = page()
  const sent = one.sendMessage({ text: 'slow' })
  await vi.waitFor(() => expect(asked).toHaveLength(1), PATIENT)
  await one.stop()
  await sent
  expect(one.status).toBe('ready')
  const next = one.sendMessage({ text: 'b' })
  expect((await threads.read('t')).turns).toEqual([])
  arrive()
  await next
  expect(asked).toEqual(['POST /api/chat', 'POST /api/chat/t/stop', 'POST /api/chat'])
  expect((await threads.read('t')).turns.map(({ status }) => status)).toEqual(['stopped', 'completed'])
  expect(texts(await history(handler, 't')).at(-1)).toBe('You said b.')
})

test('while the server does not answer a stopped message, the stop button also stops the next one (W36)', async () => {
  const { page, asked, delay } = chat()
  const { opened: arrival } = gate()
  delay(arrival)
  const one = page()
  for (const text of ['a', 'b', 'c']) {
    const sent = one.sendMessage({ text })
    await vi.waitFor(() => expect([one.status, asked.length]).toEqual(['submitted', 1]), PATIENT)
    await one.stop()
    await sent
    expect(one.status).toBe('ready')
  }
  expect(asked).toEqual(['POST /api/chat'])
})

test('while the server does not answer a stopped message, a signal that has aborted refuses the next one (W36)', async () => {
  const fetching = vi.fn<typeof fetch>(() => new Promise(() => {}))
  const transport = threadTransport({ api: 'http://chat.test/api/chat', fetch: fetching })
  const stop = new AbortController()
  const options = { chatId: 't', messageId: undefined, messages: [], abortSignal: stop.signal }
  const send = () => transport.sendMessages({ trigger: 'submit-message', ...options })
  const sent = send()
  await vi.waitFor(() => expect(fetching).toHaveBeenCalledOnce(), PATIENT)
  stop.abort('stopped')
  await expect(sent).rejects.toBe('stopped')
  await expect(send()).rejects.toBe('stopped')
  expect(fetching).toHaveBeenCalledOnce()
})

test('the stop of a message that the server refuses stops no other turn (W36)', async () => {
  const { handler, threads, page, asked, open, delay } = chat()
  const running = page().sendMessage({ text: 'slow' })
  await vi.waitFor(async () => expect((await threads.read('t')).status).toBe('running'), PATIENT)
  const { opened: arrival, open: arrive } = gate()
  delay(arrival)
  const one = page(await history(handler, 't'))
  const edited = one.sendMessage({ text: 'b', messageId: one.messages[0]?.id ?? '' })
  await vi.waitFor(() => expect(asked).toHaveLength(2), PATIENT)
  await one.stop()
  await edited
  arrive()
  const next = one.sendMessage({ text: 'c' })
  await vi.waitFor(() => expect(asked).toHaveLength(3), PATIENT)
  open()
  await Promise.all([running, next])
  expect(asked).not.toContain('POST /api/chat/t/stop')
  expect((await threads.read('t')).turns[0]?.status).toBe('completed')
})

test('the stop button of a page that has joined stops the turn, and a page that leaves stops nothing (W36)', async () => {
  const { handler, threads, page, asked } = chat()
  const one = page()
  const sent = one.sendMessage({ text: 'slow' })
  await vi.waitFor(() => expect(texts(one.messages).at(-1)).toBe('I wait.'), PATIENT)
  // The connection of a page that leaves ends without an abort of the page.
  const left = await handler(new Request('http://chat.test/api/chat/t/stream'))
  await left.body?.cancel()
  // A component that React mounts twice leaves before its stream begins.
  const twice = page(await history(handler, 't'))
  const resumed = twice.resumeStream()
  await twice.stop()
  await resumed
  expect(asked).not.toContain('POST /api/chat/t/stop')
  const late = page(await history(handler, 't'))
  const joined = late.resumeStream()
  await vi.waitFor(() => expect(late.status).toBe('streaming'), PATIENT)
  await late.stop()
  await Promise.all([joined, sent])
  expect((await threads.read('t')).turns.map(({ status }) => status)).toEqual(['stopped'])
})
