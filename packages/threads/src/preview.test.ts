import { afterEach, expect, test } from 'vitest'
import { chat, until } from '../test/chat.ts'
import { createThreads, memoryThreads, type ThreadRequest, type Threads } from './index.ts'

const opened: Threads[] = []
afterEach(async () => {
  for (const threads of opened.splice(0)) await threads.close()
})

/** A thread with one turn, which a user with the metadata `guest` began with the message `m1`. */
async function open(status: 'completed' | 'failed' | 'waiting' | 'running') {
  const made = chat()
  const threads = createThreads({ agent: made.agent, store: memoryThreads() })
  opened.push(threads)
  const text = { completed: 'look', failed: 'fails', waiting: 'mail', running: 'slow' }[status]
  const turn = await threads.send('t', text, { messageId: 'm1', metadata: 'guest' })
  if (status === 'running') await until(turn, 'tool-entered')
  else expect(await turn.result).toMatchObject({ status })
  return { ...made, threads, turn }
}

const message = (more: object = {}): ThreadRequest => ({ type: 'send', messageId: 'm2', ...more })

test.for([
  ['completed', message(), 'send', false],
  ['completed', message({ messageId: 'm1' }), 'none', false],
  ['completed', message({ replacing: 'm1' }), 'replace', true],
  ['completed', message({ messageId: 'm1', replacing: 'm1' }), 'replace', true],
  ['completed', message({ replacing: 'unknown' }), 'replace', false],
  ['completed', { type: 'answer' }, 'answer', false],
  ['completed', { type: 'retry' }, 'retry', false],
  ['completed', { type: 'stop' }, 'stop', false],
  ['failed', { type: 'retry' }, 'retry', true],
  ['waiting', { type: 'answer' }, 'answer', true],
  ['waiting', message(), 'stop', true],
  ['waiting', message({ whenAsking: 'reject' }), 'send', false],
  ['running', message(), 'send', false],
  ['running', message({ whenBusy: 'steer' }), 'steer', true],
  ['running', message({ whenBusy: 'preempt' }), 'stop', true],
  ['running', { type: 'answer' }, 'answer', false],
  ['running', { type: 'stop' }, 'stop', true],
] as const)(
  'with a %s turn, %j previews as %s; it changes the turn: %s (W52)',
  async ([status, request, action, changes]) => {
    const { threads, turn } = await open(status)
    const before = await threads.read('t')
    const preview = await threads.preview('t', request)
    expect([preview.action, preview.turn?.id]).toEqual([action, changes ? turn.id : undefined])
    if (changes) expect(preview.turn).toMatchObject({ status, messageId: 'm1', metadata: 'guest' })
    expect(await threads.read('t')).toEqual(before)
  },
)

test('a thread that does not exist is previewed, and not created (W52)', async () => {
  const { threads } = await open('completed')
  expect(await threads.preview('other', message())).toEqual({ action: 'send' })
  expect((await threads.list()).map(({ id }) => id)).toEqual(['t'])
})

test('a call that would change something else than expected throws ThreadChangedError, and changes nothing (W52)', async () => {
  const other = {
    action: 'stop',
    turn: { id: 'other', status: 'running', messageId: 'x', createdAt: new Date() },
  } as const
  const changed = { name: 'ThreadChangedError', thread: 't' }
  for (const status of ['running', 'waiting', 'failed'] as const) {
    const { threads } = await open(status)
    const before = await threads.read('t')
    const calls = [
      threads.send('t', 'Hi', { expected: other }),
      threads.send('t', 'Hi', { replacing: 'm1', expected: { ...other, action: 'replace' } }),
      threads.send('t', 'Hi', { whenBusy: 'steer', expected: { action: 'none' } }),
      threads.stop('t', { expected: other }),
      threads.retry('t', { expected: { ...other, action: 'retry' } }),
    ]
    for (const call of calls) await expect(call).rejects.toMatchObject(changed)
    expect(await threads.read('t')).toEqual(before)
  }
})

test('a call that changes what was previewed is made (W52)', async () => {
  const { threads, turn } = await open('waiting')
  const expected = await threads.preview('t', message())
  await threads.send('t', 'Hi', { messageId: 'm2', expected })
  expect(await turn.result).toMatchObject({ status: 'stopped' })
})
