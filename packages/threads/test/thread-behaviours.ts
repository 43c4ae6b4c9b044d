/** Tests of threads that hold for turns in the same process and for turns in workers. */

import { AnswerError, UnknownInterruptError } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { type ThreadStore, type Threads, UnknownMessageError } from '../src/index.ts'
import { all, type Chat, chat, type Reading, reading, shown, until } from './chat.ts'

export interface ThreadsUnderTest {
  newStore(): ThreadStore
  /** Opens threads over the store, with the agent of the chat. */
  opened(store: ThreadStore, made?: Chat): Chat & { readonly threads: Threads }
  /** Whether turns run in workers. Then a request takes a moment, and readers may miss deltas of a step that has ended. */
  readonly isRemote?: boolean
}

export function threadBehaviours({ newStore, opened, isRemote = false }: ThreadsUnderTest): void {
  const open = (made?: Chat) => opened(newStore(), made)

  test('a message begins a turn, and the model reads the messages of earlier turns (TH1)', async () => {
    const { threads, asked } = open()
    const turn = await threads.send('t', 'Hello')
    expect(await turn.result).toMatchObject({ status: 'completed', text: 'You said Hello.' })
    expect(await (await threads.send('t', 'look')).result).toMatchObject({ status: 'completed', text: 'So: sunny.' })
    const state = await threads.read('t')
    expect(shown(state)).toEqual([
      'user: Hello',
      'assistant: You said Hello.',
      'user: look',
      'assistant: I look. [look]',
      'tool: sunny',
      'assistant: So: sunny.',
    ])
    expect(asked[2]).toEqual(shown(state).slice(0, -1))
    expect(state).toMatchObject({ id: 't', status: 'idle', interrupts: [], settled: [], queued: [] })
    expect(state.turns.map(({ status }) => status)).toEqual(['completed', 'completed'])
  })

  test('messages that arrive while a turn is running wait in the queue, and each begins its own turn (TH1)', async () => {
    const { threads, open: openGate } = open()
    const turns = [await threads.send('t', 'slow')]
    turns.push(await threads.send('t', 'two'), await threads.send('t', 'three'))
    expect((await threads.read('t')).queued.map(({ message }) => message.content)).toEqual(['two', 'three'])
    openGate()
    const results = await Promise.all(turns.map((turn) => turn.result))
    expect(results.map(({ text }) => text)).toEqual(['So: at last.', 'You said two.', 'You said three.'])
    expect(shown(await threads.read('t')).filter((text) => text.startsWith('user'))).toEqual([
      'user: slow',
      'user: two',
      'user: three',
    ])
  })

  test('with whenBusy reject, a message throws while a turn is running, and is not stored (TH1)', async () => {
    const { threads, open: openGate } = open()
    const turn = await threads.send('t', 'slow')
    await expect(threads.send('t', 'two', { whenBusy: 'reject' })).rejects.toMatchObject({
      name: 'ThreadBusyError',
      status: 'running',
      thread: 't',
    })
    openGate()
    await turn.result
    expect((await threads.read('t')).turns).toHaveLength(1)
  })

  test('a steering message enters the running turn and begins no turn (TH1)', async () => {
    const store = newStore()
    const { threads, asked, open: openGate } = opened(store)
    const turn = await threads.send('t', 'slow')
    await until(turn, 'tool-entered')
    const display = { mood: 'hurried' }
    const joined = await threads.send('t', 'and quickly', { whenBusy: 'steer', messageId: 'm2', display })
    const reachedTheTurn = async () => expect(await store.checkpoints.load(turn.id)).toMatchObject({ sent: [{}] })
    if (isRemote) await vi.waitFor(reachedTheTurn, { timeout: 60_000 })
    openGate()
    await turn.result
    expect(await joined.result).toMatchObject({ status: 'completed', text: 'You said and quickly.' })
    const state = await threads.read('t')
    expect(shown(state)).toEqual([
      'user: slow',
      'assistant: I wait. [slow]',
      'tool: at last',
      'user: and quickly',
      'assistant: You said and quickly.',
    ])
    expect(asked.at(-1)).toEqual(shown(state).slice(0, -1))
    expect(state.turns).toHaveLength(1)
    expect(state.messages[3]).toMatchObject({ id: 'm2', turn: turn.id, display })
    expect((await all(joined.events())).at(-1)).toMatchObject({ type: 'turn-end', turn: turn.id })
    expect((await threads.send('t', 'and quickly', { messageId: 'm2' })).id).toBe(joined.id)
  })

  test('a preempting message stops the running turn, and its turn begins before the queue (TH1, TH2)', async () => {
    const { threads } = open()
    const turn = await threads.send('t', 'slow')
    await until(turn, 'tool-entered')
    await threads.send('t', 'queued')
    const urgent = await threads.send('t', 'urgent', { whenBusy: 'preempt' })
    expect(await turn.result).toMatchObject({ status: 'stopped' })
    expect(await urgent.result).toMatchObject({ text: 'You said urgent.' })
    await expect.poll(async () => (await threads.read('t')).status).toBe('idle')
    const state = await threads.read('t')
    const users = shown(state).filter((text) => text.startsWith('user'))
    expect(users).toEqual(['user: slow', 'user: urgent', 'user: queued'])
    const begins = state.messages.filter(({ message }) => message.role === 'user').map(({ id }) => id)
    expect(state.turns.map(({ messageId }) => messageId)).toEqual(begins)
  })

  test('a read while a turn ends returns all messages of each turn that it reports as ended (TH4, TH5)', async () => {
    const store = newStore()
    const { threads, open: openGate } = opened(store)
    const turn = await threads.send('t', 'slow')
    await until(turn, 'tool-entered')
    const during = async <Result>(read: Promise<Result>) => {
      const result = await read
      openGate()
      await turn.result
      return result
    }
    const slow: ThreadStore = {
      ...store,
      events: (...given) => during(store.events(...given)),
      turns: (id) => during(store.turns(id)),
    }
    const { threads: elsewhere } = opened(slow)
    const { status, messages } = await elsewhere.read('t')
    // A reader of a durable run notices that the turn has ended, and reads again.
    expect([status, messages.length]).toEqual([isRemote ? 'idle' : 'running', 4])
  })

  test('of two answers that are sent at once one counts: the other is refused, and the turn asks again (TH8)', async () => {
    const { threads, did } = open()
    const turn = await threads.send('t', 'mail two')
    const ids = ((await turn.result).interrupts ?? []).map(({ id }) => id)
    const answers = ids.map((id) => threads.answer('t', { [id]: { allow: true } }))
    const settled = await Promise.allSettled(answers)
    expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { name: 'ThreadBusyError' } })
    const { interrupts = [], status } = await turn.result
    expect(status).toBe('waiting')
    const last = interrupts.map(({ id }) => [id, { allow: true }] as const)
    expect(last).toHaveLength(1)
    expect(await (await threads.answer('t', Object.fromEntries(last))).result).toMatchObject({ status: 'completed' })
    expect(did.map((one) => one.slice(0, 8)).toSorted()).toEqual(['mail ada', 'mail bob'])
  })

  test('of two answers to one question that are sent at once one counts, and the other is refused (TH8)', async () => {
    const { threads, did } = open()
    const turn = await threads.send('t', 'mail')
    const id = (await turn.result).interrupts?.[0]?.id ?? ''
    const answers = [true, false].map((allow) => threads.answer('t', { [id]: { allow } }))
    const settled = await Promise.allSettled(answers)
    expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { name: 'UnknownInterruptError' },
    })
    await turn.result
    const allow = settled[0]?.status === 'fulfilled'
    expect(did).toEqual([`mail ada ${JSON.stringify([{ allow }])}`])
  })

  test('a turn whose answer is refused asks again (TH8)', async () => {
    const { threads } = open()
    const turn = await threads.send('t', 'mail')
    const id = (await turn.result).interrupts?.[0]?.id ?? ''
    await expect(threads.answer('t', { [id]: 'yes' })).rejects.toMatchObject({ name: 'AnswerError' })
    expect((await threads.read('t')).interrupts).toHaveLength(1)
    expect(await (await threads.answer('t', { [id]: { allow: true } })).result).toMatchObject({ status: 'completed' })
  })

  test('if two answers are given at once, a refused one rejects with the reason, and the other one is judged by itself (TH8)', async () => {
    const { threads, did } = open()
    const turn = await threads.send('t', 'mail')
    const id = (await turn.result).interrupts?.[0]?.id ?? ''
    const twice = await Promise.allSettled(['yes', 'yes'].map((answer) => threads.answer('t', { [id]: answer })))
    expect(twice).toMatchObject([{ reason: { name: 'AnswerError' } }, { reason: { name: 'AnswerError' } }])
    const given = await Promise.allSettled(
      ['yes', { allow: true }].map((answer) => threads.answer('t', { [id]: answer })),
    )
    expect(given).toMatchObject([{ reason: { name: 'AnswerError' } }, { status: 'fulfilled' }])
    expect(await turn.result).toMatchObject({ status: 'completed' })
    expect(did).toEqual(['mail ada [{"allow":true}]'])
  })

  test('a turn with a question waits, shows the results of the other calls, and continues with the answer (TH7, TH8)', async () => {
    const { threads, did } = open()
    const turn = await threads.send('t', 'mail both')
    const [interrupt] = (await turn.result).interrupts ?? []
    const state = await threads.read('t')
    expect(state.status).toBe('waiting')
    expect(state.interrupts).toEqual([interrupt])
    expect(state.settled.map(({ name }) => name)).toEqual(['look'])
    expect(shown(state).at(-1)).toBe('assistant: I write. [mail] [look]')
    const again = await threads.answer('t', { [interrupt?.id ?? '']: { allow: true } })
    expect(again.id).toBe(turn.id)
    expect(await again.result).toMatchObject({ status: 'completed' })
    expect(did).toEqual(['look', 'mail ada [{"allow":true}]'])
    expect(shown(await threads.read('t'))).toEqual([
      'user: mail both',
      'assistant: I write. [mail] [look]',
      'tool: sent to ada',
      'tool: sunny',
      'assistant: So: sunny.',
    ])
  })

  test('an invalid answer throws before anything runs, and the question stays open (TH8)', async () => {
    const { threads, did } = open()
    await (await threads.send('t', 'mail')).result
    const { interrupts } = await threads.read('t')
    const id = interrupts[0]?.id ?? ''
    await expect(threads.answer('t', { [id]: true })).rejects.toBeInstanceOf(AnswerError)
    for (const wrong of [{}, { [id]: (() => 1) as never }, { [id]: Number.NaN }, undefined as never])
      await expect(threads.answer('t', wrong)).rejects.toBeInstanceOf(TypeError)
    expect(await threads.read('t')).toMatchObject({ status: 'waiting', interrupts })
    expect(did).toEqual([])
    await expect(threads.answer('t', { other: true })).rejects.toMatchObject({
      name: 'UnknownInterruptError',
      ids: ['other'],
    })
    const turn = await threads.answer('t', { [id]: { allow: true } })
    await turn.result
    expect(did).toEqual(['mail ada [{"allow":true}]'])
    await expect(threads.answer('t', { [id]: { allow: true } })).rejects.toBeInstanceOf(UnknownInterruptError)
  })

  test('two questions can be answered one after the other (TH8)', async () => {
    const { threads, did } = open()
    await (await threads.send('t', 'mail two')).result
    const [one, two] = (await threads.read('t')).interrupts
    await (await threads.answer('t', { [one?.id ?? '']: { allow: true } })).result
    expect((await threads.read('t')).interrupts).toEqual([two])
    await (await threads.answer('t', { [two?.id ?? '']: { allow: false } })).result
    expect(did).toEqual(['mail ada [{"allow":true}]', 'mail bob [{"allow":false}]'])
  })

  test('a message instead of an answer closes the waiting turn, and the other calls keep their results (TH3)', async () => {
    const { threads, did, asked } = open()
    const turn = await threads.send('t', 'mail both')
    await turn.result
    const next = await threads.send('t', 'never mind')
    expect(await next.result).toMatchObject({ status: 'completed', text: 'You said never mind.' })
    expect(await turn.result).toMatchObject({ status: 'stopped' })
    expect(did).toEqual(['look'])
    expect(asked.at(-1)).toEqual([
      'user: mail both',
      'assistant: I write. [mail] [look]',
      'tool: The user wrote a message instead of answering.',
      'tool: sunny',
      'user: never mind',
    ])
    expect(shown(await threads.read('t')).slice(0, -1)).toEqual(asked.at(-1))
  })

  test('with whenAsking reject, a message throws while a turn waits (TH3)', async () => {
    const { threads } = open()
    await (await threads.send('t', 'mail')).result
    await expect(threads.send('t', 'never mind', { whenAsking: 'reject' })).rejects.toMatchObject({
      name: 'ThreadBusyError',
      status: 'waiting',
    })
    expect((await threads.read('t')).status).toBe('waiting')
  })

  test('a stop while the model writes a text keeps the text, and the next turn does not repeat the stopped one (TH2)', async () => {
    const { threads, asked } = open(chat({ pauseAfter: 10 }))
    const turn = await threads.send('t', 'story')
    await until(turn, 'text-delta', 10)
    await threads.stop('t')
    expect(await turn.result).toMatchObject({ status: 'stopped' })
    const before = shown(await threads.read('t'))
    expect(before).toEqual(['user: story', 'assistant: w0 w1 w2 w3 w4 '])
    await (await threads.send('t', 'more')).result
    expect(asked).toEqual([['user: story'], [...before, 'user: more']])
  })

  test('a stop while a tool runs keeps the message once, and the call gets a result (TH2)', async () => {
    const { threads, asked } = open()
    const turn = await threads.send('t', 'slow')
    await until(turn, 'tool-entered')
    await threads.stop('t')
    const before = shown(await threads.read('t'))
    expect(before).toEqual(['user: slow', 'assistant: I wait. [slow]', expect.stringMatching(/^tool: /)])
    await (await threads.send('t', 'more')).result
    expect(asked.at(-1)).toEqual([...before, 'user: more'])
  })

  test('a stop keeps the queue until the next message, or drops it (TH2)', async () => {
    const { threads } = open()
    await threads.send('t', 'slow')
    const queued = await threads.send('t', 'two')
    await threads.stop('t')
    expect(await threads.read('t')).toMatchObject({ status: 'idle', queued: [{ turn: queued.id }] })
    const third = await threads.send('t', 'three')
    await third.result
    expect(await queued.result).toMatchObject({ text: 'You said two.' })
    await threads.send('t', 'slow')
    const dropped = await threads.send('t', 'never said')
    await threads.stop('t', { queue: 'drop' })
    expect(await dropped.result).toMatchObject({ status: 'dropped' })
    expect((await all(dropped.events())).map(({ type }) => type)).toEqual(['turn-end'])
    expect(shown(await threads.read('t')).join()).not.toContain('never said')
  })

  test('if the queue is dropped, a steering message that has entered the turn stays, and one that was too late is dropped (TH1, TH2)', async () => {
    const { threads } = open()
    const turn = await threads.send('t', 'slow')
    await until(turn, 'tool-entered')
    await threads.send('t', 'mail', { whenBusy: 'preempt' })
    const late = await threads.send('t', 'too late', { whenBusy: 'steer' })
    await turn.result
    await expect.poll(async () => (await threads.read('t')).status).toBe('waiting')
    await threads.stop('t', { queue: 'drop' })
    const { messages, turns } = await threads.read('t')
    const count = messages.filter(({ message }) => message.content === 'too late').length
    const { status } = await late.result
    expect(count).toBe(status === 'dropped' ? 0 : 1)
    expect(turns.map(({ status }) => status)).toEqual(['stopped', 'stopped'])
  })

  test('one message is taken out of the queue, the others are answered, and the turn that runs goes on (TH2, TH4)', async () => {
    const { threads, open: openGate } = open()
    const running = await threads.send('t', 'slow')
    const [one, two] = [
      await threads.send('t', 'one', { messageId: 'm1' }),
      await threads.send('t', 'two', { messageId: 'm2' }),
    ]
    await threads.drop('t', 'm1')
    expect(await one.result).toMatchObject({ status: 'dropped' })
    expect(await threads.read('t')).toMatchObject({ status: 'running', queued: [{ id: 'm2' }] })
    await threads.drop('t', 'm1')
    openGate()
    expect(await running.result).toMatchObject({ status: 'completed' })
    expect(await two.result).toMatchObject({ text: 'You said two.' })
    for (const id of ['m2', 'never sent']) await expect(threads.drop('t', id)).rejects.toThrow(UnknownMessageError)
    expect(shown(await threads.read('t')).join()).not.toContain('one')
  })

  test('a stop of a thread that does not exist creates no thread (TH2, TH9)', async () => {
    const { threads } = open()
    await threads.stop('t')
    await threads.stop('t', { queue: 'drop' })
    expect(await threads.list()).toEqual([])
  })

  test('a stop of a waiting turn closes its question (TH2, TH3)', async () => {
    const { threads } = open()
    const turn = await threads.send('t', 'mail')
    await turn.result
    await threads.stop('t')
    expect(await turn.result).toMatchObject({ status: 'stopped' })
    expect(shown(await threads.read('t')).at(-1)).toBe('tool: The user stopped this.')
  })

  test('a failed turn keeps its messages, and a retry continues from its last complete step (TH4)', async () => {
    const { threads, asked, open: openGate } = open()
    const turn = await threads.send('t', 'fails')
    const result = await turn.result
    expect(result).toMatchObject({ status: 'failed', error: { name: 'ModelError' } })
    const state = await threads.read('t')
    expect(shown(state)).toEqual(['user: fails'])
    expect(state.turns[0]).toMatchObject({ status: 'failed', error: { message: 'no' } })
    await expect(threads.retry('other')).rejects.toMatchObject({ name: 'NothingToRetryError' })
    openGate()
    const again = await threads.retry('t')
    expect(again.id).toBe(turn.id)
    expect(await again.result).toMatchObject({ status: 'completed', text: 'You said fails.' })
    expect(asked).toEqual([['user: fails'], ['user: fails']])
    await expect(threads.retry('t')).rejects.toMatchObject({ name: 'NothingToRetryError' })
  })

  test('a failed turn cannot be retried after a later turn has begun, even if that is removed again, or in a fork (TH4)', async () => {
    const { threads, asked, open: openGate } = open()
    await (await threads.send('t', 'fails')).result
    openGate()
    const fork = await threads.fork('t')
    await (await threads.send('t', 'Hello', { messageId: 'm2' })).result
    await threads.rewind('t', { before: 'm2' })
    const states = await Promise.all(['t', fork].map((id) => threads.read(id)))
    expect(states.map(shown)).toEqual([['user: fails'], ['user: fails']])
    for (const id of ['t', fork])
      await expect(threads.retry(id)).rejects.toMatchObject({ name: 'NothingToRetryError', thread: id })
    expect(asked).toEqual([['user: fails'], ['user: fails', 'user: Hello']])
    expect(await Promise.all(['t', fork].map((id) => threads.read(id)))).toEqual(states)
  })

  test('a message that is sent again with the same id is added once (TH11)', async () => {
    const { threads, asked } = open()
    const turns = await Promise.all([1, 2, 3].map(() => threads.send('t', 'Hello', { messageId: 'm1' })))
    expect(new Set(turns.map(({ id }) => id)).size).toBe(1)
    await turns[0]?.result
    expect((await threads.send('t', 'Hello', { messageId: 'm1' })).id).toBe(turns[0]?.id)
    expect(asked).toEqual([['user: Hello']])
    await (await threads.send('u', 'Hello', { messageId: 'm1' })).result
    expect(asked).toHaveLength(2)
  })

  test('a rewind removes a message and everything after it, and its id can be used again (TH1, TH11)', async () => {
    const { threads, asked } = open()
    await (await threads.send('t', 'one', { messageId: 'm1' })).result
    await (await threads.send('t', 'two', { messageId: 'm2' })).result
    await (await threads.send('t', 'three', { messageId: 'm3' })).result
    await threads.rewind('t', { before: 'm2' })
    expect(shown(await threads.read('t'))).toEqual(['user: one', 'assistant: You said one.'])
    await (await threads.send('t', 'zwei', { messageId: 'm2' })).result
    expect(asked.at(-1)).toEqual(['user: one', 'assistant: You said one.', 'user: zwei'])
    await expect(threads.rewind('t', { before: 'm3' })).rejects.toMatchObject({
      name: 'UnknownMessageError',
      messageId: 'm3',
    })
  })

  test('a message replaces another one, also with the same id, and a repeated call with a new id changes nothing (TH1, TH11)', async () => {
    const { threads, asked } = open()
    for (const n of ['1', '2', '3']) await (await threads.send('t', n, { messageId: `m${n}` })).result
    await (await threads.send('t', 'zwei', { messageId: 'm2', replacing: 'm2' })).result
    expect(asked.at(-1)).toEqual(['user: 1', 'assistant: You said 1.', 'user: zwei'])
    const edited = ['user: 1', 'assistant: You said 1.', 'user: zwei', 'assistant: You said zwei.']
    expect(shown(await threads.read('t'))).toEqual(edited)
    const turn = await threads.send('t', 'eins', { messageId: 'n1', replacing: 'm1' })
    expect(await turn.result).toMatchObject({ status: 'completed' })
    expect((await threads.send('t', 'eins', { messageId: 'n1', replacing: 'm1' })).id).toBe(turn.id)
    expect(shown(await threads.read('t'))).toEqual(['user: eins', 'assistant: You said eins.'])
    const unknown = { name: 'UnknownMessageError', messageId: 'm3' }
    await expect(threads.send('t', 'drei', { replacing: 'm3' })).rejects.toMatchObject(unknown)
    await expect(threads.send('t', 'drei', { replacing: '' })).rejects.toMatchObject({ name: 'ThreadIdError' })
    expect(asked).toHaveLength(5)
  })

  test('a message that replaces a waiting turn closes its question, and while a turn is running it throws (TH1, TH3)', async () => {
    const { threads, open: openGate, did } = open()
    await (await threads.send('t', 'mail', { messageId: 'm1' })).result
    const turn = await threads.send('t', 'slow', { messageId: 'm1', replacing: 'm1', whenAsking: 'reject' })
    await until(turn, 'message')
    const again = threads.send('t', 'look', { messageId: 'm1', replacing: 'm1', whenBusy: 'preempt' })
    await expect(again).rejects.toMatchObject({ name: 'ThreadBusyError', status: 'running' })
    openGate()
    expect(await turn.result).toMatchObject({ status: 'completed', text: 'So: at last.' })
    expect(did).toEqual(['slow'])
    expect((await threads.read('t')).turns).toMatchObject([{ id: turn.id, status: 'completed' }])
  })

  test('an answer and a retry return the cursor after which their turn continues (TH5, TH7, TH8)', async () => {
    const { threads, open: openGate } = open()
    const { interrupts = [] } = await (await threads.send('t', 'mail')).result
    const { cursor: before } = await threads.read('t')
    const answered = await threads.answer('t', { [interrupts[0]?.id ?? '']: { allow: true } })
    expect(answered.cursor).toBe(before)
    await answered.result
    const events = await all(answered.events({ after: answered.cursor }))
    expect(events.map(({ type }) => type)).toEqual(['turn-resumed', 'message', 'message', 'turn-end'])
    await (await threads.send('t', 'fails')).result
    openGate()
    const again = await threads.retry('t')
    await again.result
    const later = await all(again.events({ after: again.cursor }))
    expect(later.map(({ type }) => type)).toEqual(['turn-resumed', 'message', 'turn-end'])
  })

  test('a fork has the messages before a message, and later changes of one thread do not affect the other (TH1)', async () => {
    const { threads, asked } = open()
    await (await threads.send('t', 'one', { messageId: 'm1' })).result
    await (await threads.send('t', 'two', { messageId: 'm2' })).result
    const fork = await threads.fork('t', { before: 'm2' })
    await (await threads.send(fork, 'zwei')).result
    expect(asked.at(-1)).toEqual(['user: one', 'assistant: You said one.', 'user: zwei'])
    expect(shown(await threads.read('t'))).toHaveLength(4)
    expect(shown(await threads.read(await threads.fork('t', { as: 'whole' })))).toHaveLength(4)
    await expect(threads.fork('t', { as: 'whole' })).rejects.toMatchObject({ name: 'ThreadExistsError' })
  })

  test('a fork that is created while a turn begins has no events of that turn (TH1)', async () => {
    const store = newStore()
    const { threads } = opened(store)
    await (await threads.send('t', 'one')).result
    const load: ThreadStore['load'] = async (...given) => {
      const stored = await store.load(...given)
      if (given[0] === 't') await until(await threads.send('t', 'slow', { messageId: 'm2' }), 'tool-entered')
      return stored
    }
    const fork = await opened({ ...store, load }).threads.fork('t')
    expect(await threads.read(fork)).toMatchObject({ status: 'idle', turns: [{ status: 'completed' }] })
    expect(shown(await threads.read(fork))).toEqual(['user: one', 'assistant: You said one.'])
  })

  test('early, late and repeated readers receive each event once and miss none (TH5, TH7, TH12)', async () => {
    const { threads, open: openGate } = open(chat({ delay: 2, pauseAfter: 60 }))
    const turn = await threads.send('t', 'story')
    const whole = reading(turn.events())
    const first = await until(turn, 'text-delta', 10)
    const rest = reading(turn.events({ after: first.cursor }))
    const deltas = ({ received }: Reading) => received.filter(({ type }) => type === 'text-delta').length
    // A reader that comes when the step has ended gets no deltas.
    await vi.waitFor(() => expect([whole, rest].map(deltas)).toEqual([60, 50]), { timeout: 60_000 })
    openGate()
    await Promise.all([whole.end, rest.end])
    const at = whole.received.findIndex(({ cursor }) => cursor === first.cursor)
    expect(rest.received).toEqual(whole.received.slice(at + 1))
    if (isRemote) expect(deltas(whole)).toBeGreaterThanOrEqual(60)
    else expect(deltas(whole)).toBe(120)
    const late = await all(turn.events())
    expect(late.map(({ type }) => type)).toEqual(['turn-start', 'message', 'turn-end'])
    expect(await all(turn.events({ after: first.cursor }))).toEqual(late.slice(1))
  })

  test('a reader of a running turn receives its end, and every event has a different cursor (TH5)', async () => {
    const { threads } = open()
    for (const text of ['hello', 'look', 'bye']) {
      const events = await all((await threads.send('t', text)).events())
      expect(events.at(-1)).toMatchObject({ type: 'turn-end', status: 'completed' })
      expect(new Set(events.map(({ cursor }) => cursor)).size).toBe(events.length)
    }
  })

  test('a deleted thread has no messages, and its id cannot be used again (TH9)', async () => {
    const { threads } = open()
    const turn = await threads.send('t', 'slow')
    await until(turn, 'tool-entered')
    await threads.delete('t')
    expect(await threads.read('t')).toMatchObject({ messages: [], turns: [], status: 'idle' })
    await expect(threads.send('t', 'again')).rejects.toMatchObject({ name: 'ThreadDeletedError', thread: 't' })
    await (await threads.send('u', 'Hello')).result
    await expect(threads.fork('u', { as: 't' })).rejects.toMatchObject({ name: 'ThreadDeletedError', thread: 't' })
    await threads.delete('u')
    await expect(all(turn.events())).rejects.toMatchObject({ name: 'ThreadDeletedError' })
    await expect(turn.result).rejects.toMatchObject({ name: 'ThreadDeletedError' })
    expect(await threads.list()).toEqual([])
  })

  test('each kind of invalid input has its own error, and nothing is stored (TH5, TH9)', async () => {
    const { threads } = open()
    for (const id of ['', 'x'.repeat(1_025), 7, undefined, { toString: () => 't' }])
      await expect(threads.send(id as string, 'x')).rejects.toMatchObject({ name: 'ThreadIdError', what: 'thread', id })
    const wrongMessage = { name: 'ThreadIdError', thread: 't', what: 'message', id: '' }
    await expect(threads.send('t', 'x', { messageId: '' })).rejects.toMatchObject(wrongMessage)
    await expect(threads.fork('t', { before: '' })).rejects.toMatchObject(wrongMessage)
    const image = { role: 'user', content: [{ type: 'image', url: 'https://example.com' }] }
    const unwritable = { role: 'user', content: [{ type: 'text', text: 'x', providerMetadata: { n: 5n } }] }
    const wrong = ['', [], { role: 'assistant', content: 'x' }, { role: 'user', content: [] }, null, image, unwritable]
    for (const message of wrong)
      await expect(threads.send('t', message as string)).rejects.toMatchObject({ name: 'InputError' })
    const metadata = { at: new Date(0) } as never
    const notJson = new TypeError('metadata.at is not JSON: it has a toJSON')
    await expect(threads.send('t', 'x', { metadata })).rejects.toThrow(notJson)
    expect(await threads.list()).toEqual([])
    const turn = await threads.send('t', 'one')
    const other = await threads.send('u', 'one')
    await Promise.all([turn.result, other.result])
    const { cursor } = await until(other, 'turn-end')
    await expect(all(turn.events({ after: cursor }))).rejects.toMatchObject({ name: 'CursorError', cursor })
    for (const damaged of ['', '7', 'x.0123abcd', '1.0123ABCD', 7 as never])
      await expect(all(turn.events({ after: damaged }))).rejects.toMatchObject({ name: 'CursorError' })
    await expect(threads.turn('t', 'none')).rejects.toMatchObject({ name: 'UnknownTurnError', turn: 'none' })
  })
}
