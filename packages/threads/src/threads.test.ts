import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, interrupt, tool } from '@meanwhile/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Chat, chat } from '../test/chat.ts'
import { threadBehaviours } from '../test/thread-behaviours.ts'
import { createThreads, memoryThreads, type ThreadStore, type Threads } from './index.ts'
import { sqliteThreads } from './sqlite.ts'

let scratch: string
const closing: (() => unknown)[] = []

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'meanwhile-threads-'))
})

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await rm(scratch, { recursive: true, force: true })
})

const stores: Record<string, () => ThreadStore> = {
  memory: memoryThreads,
  sqlite: () => {
    const store = sqliteThreads(join(scratch, 'chat.db'))
    closing.push(() => store.close())
    return store
  },
}

function opened(store: ThreadStore, made: Chat = chat()): Chat & { readonly threads: Threads } {
  const threads = createThreads({ agent: made.agent, store })
  closing.unshift(() => threads.close())
  return { ...made, threads }
}

describe.each(Object.entries(stores))('%s', (_, newStore) => {
  threadBehaviours({ newStore, opened })
})

/** An agent that asks before it pays. Only a yes fits, which is known when `judged` has resolved. */
function paying(response: ScriptedResponse, judged: () => Promise<void>): Agent {
  const yes = z.object({ allow: z.boolean() }).refine(async ({ allow }) => {
    await judged()
    return allow
  }, 'must be allowed')
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    answer: yes,
    execute: (_, { answers }) => (answers.length === 0 ? interrupt('Really?') : 'paid'),
  })
  return createAgent({ model: scriptedModel([response]), tools: [pay] })
}

test('an answer that one process refuses is refused in another one for the same reason, and keeps no other answer from being given there (TH8)', async () => {
  let begun = () => {}
  const isJudging = new Promise<void>((resolve) => {
    begun = resolve
  })
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const slow = async () => {
    begun()
    await gate
  }
  const processOf = (agent: Agent) => {
    const store = sqliteThreads(join(scratch, 'chat.db'))
    const threads = createThreads({ agent, store })
    closing.unshift(
      () => threads.close(),
      () => store.close(),
    )
    return threads
  }
  const first = processOf(paying(respond(call('pay')), slow))
  const second = processOf(paying(respond(say('Done.')), async () => {}))
  const turn = await first.send('t', 'pay')
  const id = (await turn.result).interrupts?.[0]?.id ?? ''
  const [no, yes] = [{ [id]: { allow: false } }, { [id]: { allow: true } }]
  const refused = { name: 'AnswerError', message: expect.stringContaining('must be allowed') }
  const judged = first.answer('t', no).catch((error: unknown) => error)
  await isJudging
  await expect(second.answer('t', no)).rejects.toMatchObject(refused)
  expect(await (await second.answer('t', yes)).result).toMatchObject({ status: 'completed' })
  open()
  expect(await judged).toMatchObject(refused)
})

test('the error of an invalid message says what it is, and unknown options are rejected (TH9)', async () => {
  const threads = createThreads({ agent: chat().agent, store: memoryThreads() })
  await expect(threads.send('t', 5 as never)).rejects.toThrow('a text or a user message; this is a number')
  await expect(threads.send('t', [] as never)).rejects.toThrow('a text or a user message; this is a list')
  const refused = { name: 'ConfigError', message: expect.stringContaining('did you mean messageId?') }
  await expect(threads.send('t', 'x', { mesageId: 'm' } as never)).rejects.toMatchObject(refused)
  const calls = [
    threads.answer('t', { a: 1 }, { contxt: 1 } as never),
    threads.retry('t', { contxt: 1 } as never),
    threads.stop('t', { que: 'drop' } as never),
    threads.rewind('t', { bevore: 'm' } as never),
    threads.fork('t', { bevore: 'm' } as never),
    threads.list({ limt: 1 } as never),
  ]
  for (const call of calls) await expect(call).rejects.toMatchObject({ name: 'ConfigError' })
  expect(await threads.list()).toEqual([])
})

test('each turn runs with the agent that is made for it (TH10)', async () => {
  const made: unknown[] = []
  const threads = createThreads({
    store: memoryThreads(),
    agent: (turn) => {
      made.push(turn)
      return createAgent({ model: scriptedModel([respond(say(`Hello ${turn.id}`))]) })
    },
  })
  const turn = await threads.send('t', 'x', { metadata: { user: 'ada' } })
  expect(await turn.result).toMatchObject({ text: 'Hello t' })
  expect(made).toEqual([{ id: 't', turn: turn.id, metadata: { user: 'ada' } }])
})

test('invalid options are rejected (TH1)', async () => {
  const store = memoryThreads()
  const { agent } = chat()
  expect(() => createThreads({ store } as never)).toThrow(expect.objectContaining({ option: 'agent' }))
  expect(() => createThreads({ agent } as never)).toThrow(expect.objectContaining({ option: 'store' }))
  expect(() => createThreads({ agent, store, lease: 1 })).toThrow(expect.objectContaining({ option: 'lease' }))
  const wrong = { whenBusy: 'wait', whenAsking: 'queue' }
  for (const [option, value] of Object.entries(wrong)) {
    expect(() => createThreads({ agent, store, [option]: value })).toThrow(expect.objectContaining({ option }))
    await expect(createThreads({ agent, store }).send('t', 'x', { [option]: value })).rejects.toMatchObject({ option })
  }
  for (const maxQueued of [0, -1, 1.5, Number.NaN, '5'])
    expect(() => createThreads({ agent, store, maxQueued } as never)).toThrow(
      expect.objectContaining({ option: 'maxQueued' }),
    )
  expect(() => createThreads({ agent, store, wenBusy: 1 } as never)).toThrow('did you mean whenBusy?')
})
