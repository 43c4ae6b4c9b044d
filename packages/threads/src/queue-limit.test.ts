import { afterEach, expect, test } from 'vitest'
import { chat, until } from '../test/chat.ts'
import { createThreads, memoryThreads, QueueFullError, type Threads } from './index.ts'

const opened: Threads[] = []
afterEach(async () => {
  for (const threads of opened.splice(0)) await threads.close()
})

function open(options: { readonly maxQueued?: number } = {}) {
  const made = chat()
  const threads = createThreads({ agent: made.agent, store: memoryThreads(), ...options })
  opened.push(threads)
  return { ...made, threads }
}

const full = (maxQueued: number) => ({ name: 'QueueFullError', thread: 't', maxQueued })

test.for(['queue', 'steer', 'preempt'] as const)(
  'with %s, the message after the last one that may wait is refused, and nothing has changed (W59)',
  async (whenBusy) => {
    const { threads, open: openGate } = open({ maxQueued: 2 })
    const turn = await threads.send('t', 'slow', { messageId: 'm0' })
    for (const text of ['one', 'two']) await threads.send('t', text, { messageId: text })
    const before = await threads.read('t')
    await expect(threads.send('t', 'three', { whenBusy })).rejects.toBeInstanceOf(QueueFullError)
    await expect(threads.send('t', 'three', { whenBusy })).rejects.toMatchObject(full(2))
    expect(await threads.read('t')).toEqual(before)
    // A message that is sent again is not added again.
    expect((await threads.send('t', 'two', { messageId: 'two' })).id).toBe(before.queued[1]?.turn)
    openGate()
    expect(await turn.result).toMatchObject({ status: 'completed' })
    await expect.poll(async () => (await threads.read('t')).status).toBe('idle')
    expect(await (await threads.send('t', 'three')).result).toMatchObject({ text: 'You said three.' })
  },
)

test('by default 100 messages may wait (W59)', async () => {
  const { threads } = open()
  await threads.send('t', 'slow')
  const sent = await Promise.allSettled(Array.from({ length: 150 }, (_, n) => threads.send('t', `${n}`)))
  expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
  await threads.stop('t', { queue: 'drop' })
})

test('a full queue that was stopped continues with the next message (W59)', async () => {
  const { threads } = open({ maxQueued: 1 })
  const turn = await threads.send('t', 'slow')
  await until(turn, 'tool-entered')
  await threads.send('t', 'one')
  await threads.stop('t')
  const next = await threads.send('t', 'two')
  expect(await next.result).toMatchObject({ text: 'You said two.' })
  expect((await threads.read('t')).turns.map(({ status }) => status)).toEqual(['stopped', 'completed', 'completed'])
})
