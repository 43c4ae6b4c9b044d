import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Message } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { shown, until } from '../test/chat.ts'
import { createThreads, memoryThreads, type ThreadStore, type Threads } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function opened(...responses: Parameters<typeof scriptedModel>[0]): { threads: Threads; texts: () => unknown } {
  const model = scriptedModel([...responses, respond(say('Well.'))])
  const threads = createThreads({ agent: createAgent({ model }), store: memoryThreads() })
  const texts = () => model.requests.map(({ messages }) => messages.map(({ role }) => role))
  return { threads, texts }
}

async function stopAfter(threads: Threads, ms: number): Promise<readonly Message[]> {
  const turn = await threads.send('t', 'old question')
  await vi.advanceTimersByTimeAsync(ms)
  await threads.stop('t')
  await expect(turn.result).resolves.toMatchObject({ status: 'stopped' })
  const { messages } = await threads.read('t')
  await (await threads.send('t', 'new question')).result
  return messages.map(({ message }) => message)
}

test('a stop before the first token leaves the question, and the next turn has both (TH2)', async () => {
  const { threads, texts } = opened(respond(wait(1_000), say('late')))
  expect(await stopAfter(threads, 100)).toEqual([{ role: 'user', content: 'old question' }])
  expect(texts()).toEqual([['user'], ['user', 'user']])
})

test('a stop while the model writes a call keeps the text and leaves out the call (TH2)', async () => {
  const half = call('look', '{"a":1}', { deltas: ['{"a":', '1}'] })
  const { threads, texts } = opened(respond(say('I look.'), half, wait(1_000)))
  const [, answer] = await stopAfter(threads, 100)
  expect(answer).toMatchObject({ role: 'assistant', cutOff: true })
  expect(shown(await threads.read('t'))[1]).toContain('I look.')
  expect(texts()).toHaveLength(2)
})

test('a stop does nothing if no turn runs or waits (TH2)', async () => {
  const { threads } = opened()
  await threads.stop('t')
  await threads.stop('t', { queue: 'drop' })
  expect(await threads.read('t')).toMatchObject({ status: 'idle', turns: [] })
  await expect(threads.stop('t', { queue: 'all' as never })).rejects.toMatchObject({ option: 'queue' })
})

test('if the signal of a stop is aborted, the stop rejects at once and the turn still stops (TH2)', async () => {
  const { threads } = opened(respond(wait(1_000), say('late')))
  await threads.send('t', 'old question')
  const left = new AbortController()
  left.abort(new Error('gone'))
  await expect(threads.stop('t', { signal: left.signal })).rejects.toThrow('gone')
  await vi.advanceTimersByTimeAsync(10)
  expect(await threads.read('t')).toMatchObject({ status: 'idle', turns: [{ status: 'stopped' }] })
})

test('a reader that stops reading does not stop the turn (TH5)', async () => {
  const { threads } = opened(respond(say('a'), wait(100), say('b')))
  const turn = await threads.send('t', 'question')
  const left = new AbortController()
  const reading = (async () => {
    for await (const _ of turn.events({ signal: left.signal })) await Promise.resolve()
  })()
  await vi.advanceTimersByTimeAsync(50)
  left.abort(new Error('gone'))
  await expect(reading).rejects.toThrow('gone')
  await until(turn, 'text-delta')
  await vi.advanceTimersByTimeAsync(100)
  expect(await turn.result).toMatchObject({ status: 'completed', text: 'ab' })
})

test.each(['stop', 'preempt'])(
  'a late %s does not stop a turn that began after it was stored (TH1, TH2)',
  async (order) => {
    const shared = memoryThreads()
    let delay = 0
    const change: ThreadStore['change'] = async (...given) => {
      const ms = delay
      const result = await shared.change(...given)
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
      return result
    }
    const answers = [1, 2].map(() => respond(say('a'), wait(100), say('b'), wait(100), say('c')))
    const threads = createThreads({
      agent: createAgent({ model: scriptedModel(answers) }),
      store: { ...shared, change },
    })
    await threads.send('t', 'one')
    // The store writes at once, but `change` resolves only after the turn has ended and the next one has begun.
    delay = 250
    const ordered = order === 'stop' ? threads.stop('t') : threads.send('t', 'two', { whenBusy: 'preempt' })
    delay = 0
    if (order === 'stop') await threads.send('t', 'two')
    await vi.advanceTimersByTimeAsync(1_000)
    await ordered
    const { turns } = await threads.read('t')
    expect(turns.map(({ status }) => status)).toEqual(['stopped', 'completed'])
  },
)
