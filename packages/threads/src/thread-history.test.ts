import { respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Message, type Middleware } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { shown, textsOf } from '../test/chat.ts'
import { LEASE } from '../test/fake-time.ts'
import { processOf } from '../test/processes.ts'
import { createThreads, memoryThreads, type StoredEvent, type ThreadStore } from './index.ts'
import { historyOf, reconcile } from './thread-history.ts'

const user = (content: string): Message => ({ role: 'user', content })

const messageEvent = (seq: number, content: string): StoredEvent => {
  return { seq, turn: 'turn', isKept: true, event: { type: 'message', message: user(content), runId: 'turn' } }
}

const replacedEvent = (seq: number, ...contents: string[]): StoredEvent => {
  const messages = contents.map(user)
  return { seq, turn: 'turn', isKept: true, event: { type: 'history-replaced', messages, runId: 'turn' } }
}

const history = (...contents: string[]) => contents.map(user)

test('the cards of a message that is no longer valid are retracted with it (W49, AG5)', () => {
  const insideEvent = (seq: number): StoredEvent => {
    return { seq, turn: 'turn', isKept: true, event: { type: 'inside', callId: 'a', cards: [] } }
  }
  const own = [messageEvent(2, 'b'), insideEvent(3), messageEvent(4, 'c'), insideEvent(5)]
  const retracted = (...contents: string[]) =>
    reconcile([messageEvent(1, 'a')], own, history(...contents)).retracted.map(({ seq }) => seq)
  expect([retracted('a', 'b', 'c'), retracted('a', 'b'), retracted('a')]).toEqual([[], [4, 5], [2, 3, 4, 5]])
})

test('the history has the messages since it was last replaced (TH7)', () => {
  expect(historyOf([])).toEqual([])
  expect(historyOf([messageEvent(1, 'a'), messageEvent(2, 'b'), replacedEvent(3, 'ab'), messageEvent(4, 'c')])).toEqual(
    history('ab', 'c'),
  )
})

test.each([
  ['equal messages stay', [messageEvent(2, 'b')], ['a', 'b'], [], []],
  [
    'messages that the checkpoint does not have are retracted',
    [messageEvent(2, 'b'), messageEvent(3, 'c')],
    ['a'],
    [2, 3],
    [],
  ],
  ['messages that only the checkpoint has are missing', [], ['a', 'b', 'c'], [], ['b', 'c']],
  [
    'if both have different messages, those of the checkpoint are valid',
    [messageEvent(2, 'b'), messageEvent(3, 'x')],
    ['a', 'b', 'c'],
    [3],
    ['c'],
  ],
  [
    'a replacement of the history that the checkpoint does not have is retracted',
    [messageEvent(2, 'b'), replacedEvent(3, 'ab')],
    ['a', 'b'],
    [3],
    [],
  ],
])('after a process has died, %s (TH6)', (_, own, texts, retracted, missing) => {
  const found = reconcile([messageEvent(1, 'a')], own, history(...texts))
  expect(found.retracted.map(({ seq }) => seq)).toEqual(retracted)
  expect(found.missing).toEqual(history(...missing))
  expect(found.replaced).toBeUndefined()
})

test('after a process has died, readers receive a rewritten history whose event was not stored (TH6)', () => {
  const found = reconcile([messageEvent(1, 'a')], [messageEvent(2, 'b')], history('summary', 'b', 'c'))
  expect(found).toEqual({ retracted: [], missing: history('c'), replaced: history('summary', 'b', 'c') })
})

test('each message is compared once, in a turn of any length (TH6)', () => {
  const texts = Array.from({ length: 500 }, (_, index) => `message ${index}`)
  const own = texts.map((text, index) => messageEvent(index + 2, text))
  const stringify = vi.spyOn(JSON, 'stringify')
  const { retracted } = reconcile([messageEvent(1, 'a')], own, history('a', ...texts.with(250, 'another')))
  const calls = stringify.mock.calls.length
  stringify.mockRestore()
  expect(retracted).toHaveLength(250)
  expect(calls).toBeLessThan(3 * texts.length)
})

test('all messages stay visible when a middleware shortens the history, and the next turn begins with the short history (TH7)', async () => {
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

test.each([1, 2, 3, 4])(
  'if a process dies after write %i of a turn that replaced the history, and the turn is stopped, the next turn reads all messages that are left (TH7)',
  async (writes) => {
    const short: Middleware = {
      name: 'short',
      beforeModel: ({ messages }) =>
        messages.at(-1)?.content === '2' && messages.length > 2
          ? { messages: [user('summary'), ...messages.slice(-1)] }
          : undefined,
    }
    const open = (store: ThreadStore) => {
      const model = scriptedModel(Array.from({ length: 3 }, () => respond(say('yes'), wait(500))))
      const agent = createAgent({ name: 'short', model, middleware: [short] })
      return { model, threads: createThreads({ agent, store, lease: LEASE }) }
    }
    vi.useFakeTimers()
    try {
      const store = memoryThreads()
      const process = processOf(store)
      const early = open(process.store)
      const first = early.threads.send('t', '1')
      await vi.advanceTimersByTimeAsync(500)
      await (await first).result
      process.kill(writes)
      void early.threads.send('t', '2')
      await vi.advanceTimersByTimeAsync(100)
      process.kill()
      const late = open(store)
      const stopped = late.threads.stop('t')
      await vi.advanceTimersByTimeAsync(2 * LEASE)
      await stopped
      const last = late.threads.send('t', '3')
      await vi.advanceTimersByTimeAsync(500)
      await (await last).result
      const asked = textsOf(late.model.requests.at(-1)?.messages ?? [])
      expect(asked).toEqual(['user: 1', 'assistant: yes', 'user: 2', 'user: 3'])
    } finally {
      vi.clearAllTimers()
      vi.useRealTimers()
    }
  },
)
