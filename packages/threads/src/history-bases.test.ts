import type { Message } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { playTurn, storeThread } from '../test/long-threads.ts'
import { HistoryBases } from './history-bases.ts'
import { memoryThreads, type StoredEvent, type TurnRecord } from './index.ts'

const user = (content: string): Message & { readonly role: 'user' } => ({ role: 'user', content })

const history = (texts: string) => texts.split('').map(user)

const startEvent = (seq: number, text: string): StoredEvent => {
  return { seq, turn: 'turn', isKept: true, event: { type: 'turn-start', message: user(text), messageId: 'm' } }
}

const messageEvent = (seq: number, text: string): StoredEvent => {
  return { seq, turn: 'turn', isKept: true, event: { type: 'message', message: user(text), runId: 'turn' } }
}

const replacedEvent = (seq: number, texts: string): StoredEvent => {
  return {
    seq,
    turn: 'turn',
    isKept: true,
    event: { type: 'history-replaced', messages: history(texts), runId: 'turn' },
  }
}

const turn: TurnRecord = {
  id: 'turn',
  number: 1,
  status: 'running',
  messageId: 'm',
  createdAt: 0,
  epoch: 1,
  leaseUntil: 0,
  startSeq: 3,
  historyAt: 1,
}

/** The bases of a turn with the history `abc` at its beginning. */
function basesWith(...own: StoredEvent[]): HistoryBases {
  const bases = new HistoryBases('t')
  bases.read(turn, { before: [replacedEvent(1, 'a'), messageEvent(2, 'b'), startEvent(3, 'c')], own })
  return bases
}

const baseOf = (bases: HistoryBases, texts: string) => {
  const { from, seq, count } = bases.of(history(texts)) ?? {}
  return from === undefined ? undefined : [from, seq, count]
}

test('a checkpoint begins with the start of its turn, or with the last replacement of the history that it has (W62)', () => {
  const bases = basesWith(messageEvent(4, 'd'))
  expect([baseOf(bases, 'abc'), baseOf(bases, 'abcd'), baseOf(bases, 'abcx')]).toEqual(Array(3).fill([1, 3, 3]))
  const { event } = replacedEvent(5, 'sd')
  bases.push(5, event)
  bases.push(6, messageEvent(6, 'e').event)
  bases.push(7, { ...replacedEvent(7, 'inner').event, path: ['agent'] } as never)
  expect([baseOf(bases, 'sd'), baseOf(bases, 'sde')]).toEqual(Array(2).fill([5, 5, 2]))
  // It was taken before the event was emitted.
  expect(baseOf(bases, 'abcd')).toEqual([1, 3, 3])
})

test('a checkpoint with another history is stored whole (W62)', () => {
  const bases = basesWith(replacedEvent(4, 'sc'))
  expect(['ab', 'xbc', 'axc', 'abx', 's', 'sx', ''].map((texts) => baseOf(bases, texts))).toEqual(
    Array(7).fill(undefined),
  )
  const other = new HistoryBases('t')
  expect(baseOf(other, 'abc')).toBeUndefined()
  other.read(turn, { before: [], own: [] })
  expect(baseOf(other, 'abc')).toBeUndefined()
})

test('no checkpoint begins with an event that was retracted (L18)', () => {
  const bases = basesWith(replacedEvent(4, 'abcd'), replacedEvent(5, 'abcde'))
  bases.retract([5])
  expect(baseOf(bases, 'abcdef')).toEqual([4, 4, 4])
  bases.retract([4])
  expect(baseOf(bases, 'abcdef')).toEqual([1, 3, 3])
})

test('each message of a thread is checked, copied and hashed a few times in a turn, however often the turn is saved (W62)', async () => {
  const length = 300
  const store = memoryThreads()
  await storeThread(store, 't', length)
  const stringify = vi.spyOn(JSON, 'stringify')
  await playTurn(store, 't')
  const calls = stringify.mock.calls.filter(([value]) => Object(value).role !== undefined).length
  stringify.mockRestore()
  expect(calls).toBeLessThan(4.5 * length)
})
