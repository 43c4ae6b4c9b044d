/** Plays requests whose process dies at each of its writes, on threads whose history a middleware shortens, and compares what the thread is in the end. */

import { call, fail, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Message, type ModelRequest, textOf, tool } from '@meanwhile/core'
import { expect } from 'vitest'
import { z } from 'zod'
import { createThreads, type ThreadStore, type Threads } from '../src/index.ts'
import { shown, textsOf } from './chat.ts'
import { checkedCheckpoints } from './checked-checkpoints.ts'
import { processOf } from './processes.ts'
import { questionAt, shorten } from './shorten.ts'

/** In milliseconds. It is short because it also passes by PostgreSQL's clock. */
const LEASE = 100

/** What is done to a thread. */
interface Requests {
  /** What was done before, by a process that did not die. */
  readonly before: readonly string[]
  /** The process that does this dies. Then another one does it again. */
  readonly act: (threads: Threads) => Promise<unknown>
  /** Whether the agent fails at the second step of the turns before. */
  readonly failsBefore?: boolean
}

const send = (threads: Threads, text: string, replacing?: string) =>
  threads.send('t', text, { messageId: text, ...(replacing !== undefined && { replacing }) })

const answer = async (threads: Threads) => {
  const { interrupts } = await threads.read('t')
  for (const { id } of interrupts) await threads.answer('t', { [id]: { allow: true } })
}

/** By what is done. The histories of turns whose text has `short` are replaced before each step. */
export const REQUESTS: Readonly<Record<string, Requests>> = {
  'a message': { before: ['1', '2 look'], act: (threads) => send(threads, '3 look') },
  'a message whose turn summarizes': { before: ['1', '2 look'], act: (threads) => send(threads, '3 short look') },
  'an edit': { before: ['1', '2 look'], act: (threads) => send(threads, '2 look again', '2 look') },
  'an edit of a turn that had summarized': {
    before: ['1', '2 short look', '3'],
    act: (threads) => send(threads, '2 short look again', '2 short look'),
  },
  'an edit of a turn that asks': {
    before: ['1', '2 short', '3 short ask'],
    act: (threads) => send(threads, '3 short ask again', '3 short ask'),
  },
  'a rewind': {
    before: ['1', '2 short look', '3 short ask'],
    act: async (threads) => {
      await threads.rewind('t', { before: '2 short look' }).catch(ignore('UnknownMessageError'))
      await send(threads, '4 look')
    },
  },
  'a retry': {
    before: ['1', '2 look'],
    failsBefore: true,
    act: (threads) => threads.retry('t').catch(ignore('NothingToRetryError', 'ThreadBusyError')),
  },
  'a retry of a turn that had summarized': {
    before: ['1', '2 short look'],
    failsBefore: true,
    act: (threads) => threads.retry('t').catch(ignore('NothingToRetryError', 'ThreadBusyError')),
  },
  'an answer': { before: ['1', '2 short look', '3 ask'], act: answer },
  'an answer to a turn that had summarized': { before: ['1', '2 short ask'], act: answer },
  'a stop of a turn that waits': { before: ['1', '2 ask'], act: (threads) => threads.stop('t') },
  'a stop of a turn that had summarized and waits': {
    before: ['1', '2 short ask'],
    act: (threads) => threads.stop('t'),
  },
  'a message instead of an answer': { before: ['1', '2 short ask'], act: (threads) => send(threads, '3 short look') },
  'a fork of a turn that waits': {
    before: ['1', '2 short look', '3 short ask'],
    act: async (threads) => {
      await threads.fork('t', { as: 'f', before: '3 short ask' }).catch(ignore('ThreadExistsError'))
      await threads.send('f', '4 short look', { messageId: '4' })
      await answer(threads)
    },
  },
  'a deletion': { before: ['1', '2 short ask'], act: (threads) => threads.delete('t') },
}

function ignore(...names: readonly string[]): (error: Error) => void {
  return (error) => {
    if (!names.includes(error.name)) throw error
  }
}

export interface CrashedHistories {
  newStore(): Promise<ThreadStore>
  /** Lets this many milliseconds of fake time pass. */
  pass(ms: number): Promise<void>
  /** Lets leases of 100 ms expire. */
  expire(): Promise<void>
  /** 3: the process dies only at each third write. Default 1. */
  readonly every?: number
}

/** What a thread is in the end. */
interface End {
  /** The messages of the thread and of its fork. */
  readonly shown: readonly (readonly string[])[]
  /** What the model reads for a new message. */
  readonly asked: readonly string[]
}

/** Plays the requests without a crash, and with one at each write. Timers must be fake. */
export async function checkCrashes(given: CrashedHistories, requests: Requests): Promise<void> {
  const { every = 1 } = given
  const whole = await play(given, requests)
  expect([whole.writes, whole.cut]).toEqual([expect.toSatisfy(isPositive), expect.toSatisfy(isPositive)])
  // Which writes are left out depends on the requests.
  const first = Object.values(REQUESTS).indexOf(requests) % every
  for (let dies = first; dies <= whole.writes; dies += every) {
    const crashed = await play(given, requests, dies)
    expect({ dies, ...crashed.end }).toEqual({ dies, ...whole.end })
  }
}

const isPositive = (count: number) => count > 0

async function play(
  { newStore, pass, expire }: CrashedHistories,
  { before, act, failsBefore = false }: Requests,
  dies = Number.POSITIVE_INFINITY,
): Promise<{ readonly writes: number; readonly cut: number; readonly end: End }> {
  const { store, faults, saves } = checkedCheckpoints(await newStore())
  let asked: readonly string[] = []
  let isFailing = failsBefore
  const script = (request: ModelRequest): ScriptResponse => {
    asked = textsOf(request.messages)
    return isFailing && request.messages.at(-1)?.role === 'tool' ? fails() : answered(request)
  }
  const open = (over: ThreadStore) => {
    const model = scriptedModel(Array.from({ length: 50 }, () => script))
    const agent = createAgent({ name: 'helper', model, tools: [look, ask], middleware: [shorten] })
    return createThreads({ agent, store: over, lease: LEASE, onError: () => {} })
  }
  const settled = async (work: Promise<unknown>, limit: number): Promise<boolean> => {
    let isOver = false
    const over = () => {
      isOver = true
    }
    work.then(over, over)
    for (let passed = 0; passed < limit && !isOver; passed += 20) await pass(20)
    return isOver
  }
  const idle = async (threads: Threads, thread: string) => {
    const turn = await threads.turn(thread).catch(ignore('ThreadDeletedError'))
    await turn?.result
  }
  const done = async (threads: Threads) => {
    await act(threads)
    for (const thread of ['t', 'f']) await idle(threads, thread)
  }

  const early = open(store)
  for (const text of before) expect(await settled(idleAfter(send(early, text)), 2_000)).toBe(true)
  isFailing = false
  let writes = 0
  const counted: ThreadStore = {
    ...store,
    change(...given) {
      writes++
      return store.change(...given)
    },
  }
  const process = processOf(counted)
  process.kill(dies)
  await settled(done(open(process.store)), 2_000)
  process.kill()
  const made = writes
  const late = open(store)
  late.watch()
  await expire()
  await pass(LEASE)
  const again = done(late)
  expect(await settled(again, 5_000)).toBe(true)
  await again
  const last = send(late, 'the end').then(
    ({ result }) => result,
    () => undefined,
  )
  asked = []
  expect(await settled(last, 5_000)).toBe(true)
  const end = { shown: await Promise.all(['t', 'f'].map(async (id) => shown(await late.read(id)))), asked }
  await late.close()
  expect(faults).toEqual([])
  return { writes: made, cut: saves.cut, end }
}

async function idleAfter(turn: ReturnType<Threads['send']>): Promise<void> {
  await (await turn).result
}

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'sunny',
})

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  effect: 'read',
  execute(_, { answers }) {
    if (answers.length === 0) interrupt('Really?', { answer: z.object({ allow: z.boolean() }) })
    return 'asked'
  },
})

const fails = () => respond(say('I fail.'), fail({ status: 400, message: 'no' }))

/** Calls tools twice if the question has the name of one, and then says what it was asked. */
function answered({ messages }: ModelRequest): ScriptResponse {
  const at = questionAt(messages)
  const question = textOf(messages[at] as Message)
  const results = messages.slice(at).filter(({ role }) => role === 'tool').length
  if (results === 0 && question.includes('ask')) return respond(say('I ask.'), call('ask'))
  if (results < 2 && question.includes('look')) return respond(say('I look.'), call('look'))
  return respond(say(`So much for ${question}.`))
}
