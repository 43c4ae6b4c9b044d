/** Writes threads of any length, and plays a turn of about eight saves on them. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type ModelRequest, tool } from '@meanwhile/core'
import { expect } from 'vitest'
import { z } from 'zod'
import { createThreads, type StoredEvent, type ThreadStore, type TurnRecord } from '../src/index.ts'
import { newThread } from '../src/thread-records.ts'

/** The text of each message. */
const TEXT = 'What a message says, in about as many words as messages of a chat have. '.repeat(4)

/**
 * Returns how many bytes a turn writes on threads of 0, 100 and 1,000 messages. `written`: the bytes that were written so far. `pass`: lets fake time
 * pass until the promise has settled. With real time, events that come one after another would be written together or one by one.
 */
export async function bytesByLength(
  store: ThreadStore,
  written: () => Promise<number>,
  pass: (end: Promise<unknown>) => Promise<unknown>,
): Promise<readonly [number, number, number]> {
  const lengths = [0, 100, 1_000] as const
  // The database has all threads before the first is measured, so that its size is the same for all.
  for (const length of lengths) await storeThread(store, `${length}`, length)
  const bytes: number[] = []
  for (const length of lengths) {
    const before = await written()
    const played = playTurn(store, `${length}`)
    await pass(played)
    await played
    bytes.push((await written()) - before)
  }
  const [few = 0, more = 0, most = 0] = bytes
  return [few, more, most]
}

/** Stores a thread of one turn with this many messages. */
export async function storeThread(store: ThreadStore, id: string, length: number): Promise<void> {
  const turn = `turn of ${id}`
  const event = (n: number): StoredEvent['event'] => {
    if (n === 0) return { type: 'turn-start', message: { role: 'user', content: TEXT }, messageId: `${id} 0` }
    const content = [{ type: 'text', text: `${n} ${TEXT}` }] as const
    const message =
      n % 2 ? ({ role: 'assistant', content, finishReason: 'stop' } as const) : ({ role: 'user', content } as const)
    return { type: 'message', message, runId: turn, messageId: `${id} ${n}` }
  }
  const events = Array.from({ length }, (_, n): StoredEvent => ({ seq: n + 1, turn, isKept: true, event: event(n) }))
  const times = { createdAt: 0, endedAt: 0, epoch: 1, leaseUntil: 0, startSeq: 1, historyAt: 0 }
  const record: TurnRecord = { id: turn, number: 1, status: 'completed', messageId: `${id} 0`, ...times }
  const { thread } = newThread(id, '01234567', 0)
  await store.change(id, () => ({
    thread: { ...thread, seq: length, turns: length > 0 ? 1 : 0 },
    turns: length > 0 ? [record] : [],
    events,
    result: undefined,
  }))
}

/** Plays one turn with two calls on the thread. */
export async function playTurn(store: ThreadStore, thread: string): Promise<void> {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ bill: z.string() }),
    execute: ({ bill }) => `paid ${bill}`,
  })
  const answer = ({ messages }: ModelRequest) => {
    const paid = messages
      .slice(messages.findLastIndex(({ role }) => role === 'user'))
      .filter(({ role }) => role === 'tool')
    return paid.length < 2
      ? respond(say('I pay.'), call('pay', { bill: `${paid.length}` }))
      : respond(say('Both are paid.'))
  }
  const model = scriptedModel(Array.from({ length: 3 }, () => answer))
  const threads = createThreads({ agent: createAgent({ name: 'clerk', model, tools: [pay] }), store })
  const turn = await threads.send(thread, 'Pay two bills.')
  expect(await turn.result).toMatchObject({ status: 'completed', text: 'Both are paid.' })
  await threads.close()
}
