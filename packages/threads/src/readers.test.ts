import { expect, test } from 'vitest'
import { chat } from '../test/chat.ts'
import { createThreads, memoryThreads, type Turn } from './index.ts'

const typesOf = async (turn: Turn, after?: string) => {
  const types: string[] = []
  for await (const { type } of turn.events(after === undefined ? {} : { after })) types.push(type)
  return types
}

test('readers of a retried turn no longer receive its first end, and receive what follows it (TH4, TH5)', async () => {
  const { agent, open } = chat()
  const threads = createThreads({ agent, store: memoryThreads() })
  const turn = await threads.send('t', 'fails')
  expect((await typesOf(turn)).at(-1)).toBe('turn-end')
  open()
  await (await threads.retry('t')).result
  const types = await typesOf(turn)
  expect(types.filter((type) => type.startsWith('turn-'))).toEqual(['turn-start', 'turn-resumed', 'turn-end'])
  expect(types.slice(-2)).toEqual(['message', 'turn-end'])
})

test('the cursor of a waiting thread is after the question, and its turn has the time at which it began to wait (TH5)', async () => {
  const threads = createThreads({ agent: chat().agent, store: memoryThreads() })
  const turn = await threads.send('t', 'mail')
  const before = Date.now()
  await turn.result
  const { cursor, interrupts, turns } = await threads.read('t')
  expect(turns[0]?.endedAt?.getTime()).toBeGreaterThanOrEqual(before)
  expect(await typesOf(turn, cursor)).toEqual([])
  await threads.answer('t', { [interrupts[0]?.id ?? '']: { allow: true } })
  expect((await typesOf(turn, cursor))[0]).toBe('turn-resumed')
  expect((await threads.read('t')).turns[0]).toMatchObject({ status: 'completed', endedAt: expect.any(Date) as Date })
})
