import type { Message } from '@meanwhile/core'
import { createAgent, type Middleware } from '@meanwhile/core'
import { respond, say, scriptedModel } from '@meanwhile/core/testing'
import { expect, test, vi } from 'vitest'
import { shown, textsOf } from '../test/chat.ts'
import { createThreads, memoryThreads, type StoredEvent } from './index.ts'
import { historyOf, reconcile } from './thread-history.ts'

const user = (content: string): Message => ({ role: 'user', content })

const said = (seq: number, content: string): StoredEvent => {
  return { seq, turn: 'turn', isKept: true, event: { type: 'message', message: user(content), runId: 'turn' } }
}

const replaced = (seq: number, ...contents: string[]): StoredEvent => {
  const messages = contents.map(user)
  return { seq, turn: 'turn', isKept: true, event: { type: 'history-replaced', messages, runId: 'turn' } }
}

const history = (...contents: string[]) => contents.map(user)

test('the history has the messages since it was last rewritten (TH7)', () => {
  expect(historyOf([])).toEqual([])
  expect(historyOf([said(1, 'a'), said(2, 'b'), replaced(3, 'ab'), said(4, 'c')])).toEqual(history('ab', 'c'))
})

test.each([
  ['what is equal stays', [said(2, 'b')], ['a', 'b'], [], []],
  ['what the checkpoint does not have is retracted', [said(2, 'b'), said(3, 'c')], ['a'], [2, 3], []],
  ['what only the checkpoint has is told', [], ['a', 'b', 'c'], [], ['b', 'c']],
  ['where both have gone on, the checkpoint counts', [said(2, 'b'), said(3, 'x')], ['a', 'b', 'c'], [3], ['c']],
  ['a history that was rewritten later is as it was', [said(2, 'b'), replaced(3, 'ab')], ['a', 'b'], [3], []],
])('after the end of a process %s (TH6)', (_, own, texts, retracted, missing) => {
  const found = reconcile([said(1, 'a')], own, history(...texts))
  expect(found.retracted.map(({ seq }) => seq)).toEqual(retracted)
  expect(found.missing).toEqual(history(...missing))
  expect(found.replaced).toBeUndefined()
})

test('after a process has died, readers receive a rewritten history whose event was not stored (TH6)', () => {
  const found = reconcile([said(1, 'a')], [said(2, 'b')], history('summary', 'b', 'c'))
  expect(found).toEqual({ retracted: [], missing: history('c'), replaced: history('summary', 'b', 'c') })
})

test('each message is compared once, however long the turn that goes on (TH6)', () => {
  const texts = Array.from({ length: 500 }, (_, index) => `message ${index}`)
  const own = texts.map((text, index) => said(index + 2, text))
  const stringify = vi.spyOn(JSON, 'stringify')
  const { retracted } = reconcile([said(1, 'a')], own, history('a', ...texts.with(250, 'another')))
  const calls = stringify.mock.calls.length
  stringify.mockRestore()
  expect(retracted).toHaveLength(250)
  expect(calls).toBeLessThan(3 * texts.length)
})

test('all messages stay when a middleware shortens the history, and the next turn begins with the short one (TH7)', async () => {
  const short: Middleware = {
    name: 'short',
    beforeModel: ({ messages }) =>
      messages.at(-1)?.content === '3' ? { messages: [user('summary'), ...messages.slice(-1)] } : undefined,
  }
  const model = scriptedModel(['one', 'two', 'three', 'four', 'drei'].map((text) => respond(say(text))))
  const threads = createThreads({ agent: createAgent({ model, middleware: [short] }), store: memoryThreads() })
  for (const text of ['1', '2', '3', '4']) await (await threads.send('t', text, { messageId: text })).result
  const texts = ['user: 1', 'assistant: one', 'user: 2', 'assistant: two', 'user: 3', 'assistant: three']
  expect(shown(await threads.read('t'))).toEqual([...texts, 'user: 4', 'assistant: four'])
  const asked = () => textsOf(model.requests.at(-1)?.messages ?? [])
  expect(asked()).toEqual(['user: summary', 'user: 3', 'assistant: three', 'user: 4'])
  const fork = await threads.fork('t', { before: '4' })
  expect(shown(await threads.read(fork))).toEqual(texts)
  await threads.rewind('t', { before: '3' })
  await (await threads.send('t', 'drei')).result
  expect(asked()).toEqual([...texts.slice(0, 4), 'user: drei'])
})
