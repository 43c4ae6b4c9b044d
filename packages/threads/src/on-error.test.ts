import { respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { type Checkpoint, createAgent } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { chat } from '../test/chat.ts'
import { LEASE, useFakeTime } from '../test/fake-time.ts'
import { type Change, createThreads, type ErrorPlace, memoryThreads, type ThreadStore } from './index.ts'

useFakeTime()

function recorder() {
  const errors: { readonly error: unknown; readonly at: ErrorPlace }[] = []
  return { errors, onError: (error: unknown, at: ErrorPlace) => void errors.push({ error, at }) }
}

test('onError receives the error of a failed turn, with the thread and the turn (TH4)', async () => {
  const { errors, onError } = recorder()
  const threads = createThreads({ agent: chat().agent, store: memoryThreads(), onError })
  const turn = await threads.send('t', 'fails')
  expect(await turn.result).toMatchObject({ status: 'failed' })
  expect(errors).toEqual([
    { error: expect.objectContaining({ name: 'ModelError', message: 'no' }), at: { thread: 't', turn: turn.id } },
  ])
})

test('onError receives the errors of threads that watch could not take over, and of a store that could not list them (TH6)', async () => {
  const shared = memoryThreads()
  const first = createThreads({ agent: chat({ delay: 50 }).agent, store: shared, lease: LEASE })
  await first.send('t', 'story')
  await first.close()
  const { errors, onError } = recorder()
  const broken = new Error('the store is not available')
  let hasDue = false
  const store: ThreadStore = {
    ...shared,
    due: async (...given) => {
      if (!hasDue) throw broken
      return await shared.due(...given)
    },
    change: async () => {
      throw broken
    },
  }
  const watch = createThreads({ agent: chat().agent, store, lease: LEASE, onError }).watch()
  await vi.advanceTimersByTimeAsync(1)
  hasDue = true
  await vi.advanceTimersByTimeAsync(LEASE / 2)
  watch.close()
  expect(errors).toEqual([
    { error: broken, at: {} },
    { error: broken, at: { thread: 't' } },
  ])
})

test('onError receives the error of a write while a turn runs, and the turn still completes (TH4)', async () => {
  const shared = memoryThreads()
  const { errors, onError } = recorder()
  const broken = new Error('the store is not available')
  let isAway = false
  const change: ThreadStore['change'] = async (...given) => {
    if (isAway) throw broken
    return await shared.change(...given)
  }
  const slowly = respond(...Array.from({ length: 20 }, (_, n) => [say(`w${n} `), wait(50)]).flat())
  const agent = createAgent({ model: scriptedModel([slowly]) })
  const threads = createThreads({ agent, store: { ...shared, change }, lease: LEASE, onError })
  const turn = await threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(200)
  isAway = true
  await vi.advanceTimersByTimeAsync(400)
  isAway = false
  await vi.advanceTimersByTimeAsync(2 * LEASE)
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect(errors.length).toBeGreaterThan(0)
  for (const one of errors) expect(one).toEqual({ error: broken, at: { thread: 't', turn: turn.id } })
})

/** A store that is not available for the first change of which `fails` is true. */
function failingOnce(shared: ThreadStore, broken: Error, fails: (change: Change<unknown>) => boolean): ThreadStore {
  let hasFailed = false
  return {
    ...shared,
    change: (id, decide, options) =>
      shared.change(
        id,
        (...given) => {
          const change = decide(...given)
          if (!hasFailed && fails(change)) {
            hasFailed = true
            throw broken
          }
          return change
        },
        options,
      ),
  }
}

const unsaved = (cause: Error): unknown => expect.objectContaining({ name: 'CheckpointStoreError', cause })

test('onError receives the error of the last checkpoint of a turn, which completes (TH4)', async () => {
  const { errors, onError } = recorder()
  const broken = new Error('the store is not available')
  const store = failingOnce(
    memoryThreads(),
    broken,
    ({ checkpoint }) => (checkpoint?.checkpoint as Checkpoint | undefined)?.status === 'completed',
  )
  const threads = createThreads({ agent: chat().agent, store, onError })
  const turn = await threads.send('t', 'hello')
  expect(await turn.result).toMatchObject({ status: 'completed', text: 'You said hello.' })
  expect(errors).toEqual([{ error: unsaved(broken), at: { thread: 't', turn: turn.id } }])
})

test('a steering message whose first write fails has joined the turn with the next one, and is answered once (TH1)', async () => {
  const { errors, onError } = recorder()
  const broken = new Error('the store is not available')
  const { agent, asked, open } = chat()
  const store = failingOnce(memoryThreads(), broken, ({ turns = [] }) =>
    turns.some(({ status }) => status === 'joined'),
  )
  const threads = createThreads({ agent, store, lease: LEASE, onError })
  const turn = await threads.send('t', 'slow')
  await vi.advanceTimersByTimeAsync(100)
  const steering = await threads.send('t', 'and quickly', { whenBusy: 'steer' })
  open()
  await vi.advanceTimersByTimeAsync(2 * LEASE)
  expect(await steering.result).toMatchObject({ status: 'completed', text: 'You said and quickly.' })
  expect(errors).toEqual([{ error: unsaved(broken), at: { thread: 't', turn: turn.id } }])
  expect((await threads.read('t')).turns.map(({ id }) => id)).toEqual([turn.id])
  expect(asked).toHaveLength(2)
})

test('without onError, and if onError throws, there is one warning for each error name (TH4)', async () => {
  const warnings: unknown[] = []
  const emit = vi.spyOn(process, 'emitWarning').mockImplementation((...given: unknown[]) => void warnings.push(given))
  try {
    const named = (name: string) => Object.assign(new Error('no luck'), { name })
    const agent = () => {
      throw named('KindOne')
    }
    const threads = createThreads({ agent, store: memoryThreads() })
    for (const text of ['one', 'two']) await (await threads.send('t', text)).result
    const onError = () => {
      throw named('KindTwo')
    }
    const others = createThreads({ agent, store: memoryThreads(), onError })
    await (await others.send('t', 'one')).result
  } finally {
    emit.mockRestore()
  }
  const options = { type: 'MeanwhileWarning', code: 'threads-error' }
  expect(warnings).toEqual([
    [expect.stringMatching(/^KindOne in the thread "t": no luck\. /), options],
    [expect.stringMatching(/^KindTwo in the thread "t": no luck\. /), options],
  ])
})
