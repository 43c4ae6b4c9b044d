import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { postedBy } from '@meanwhile/tests/own-thread'
import { expect, test } from 'vitest'
import { createThreads, memoryThreads } from '../index.ts'
import { threadStoreContract } from '../testing.ts'

for (const { name, run } of threadStoreContract(() => ({ store: memoryThreads() }))) {
  test(`memory: ${name} (TH6, TH9)`, async () => {
    await expect(run()).resolves.toBeUndefined()
  })
}

test('memory: the text of an answer is kept once (TH9)', async () => {
  const file = new URL('../../test/answers-heap.ts', import.meta.url)
  const { bytesOfLetter, messages } = (await postedBy(file, { turns: 20, letters: 200_000 })) as Record<string, number>
  expect(messages).toBe(2)
  expect(bytesOfLetter).toBeGreaterThan(0.9)
  expect(bytesOfLetter).toBeLessThan(1.5)
})

test('memory: the text of an answer is read as it was written, of several parts and after its turn was replaced (TH6)', async () => {
  const store = memoryThreads()
  const script = [respond(say('One. '), say('Two.')), respond(say('Three.'))]
  const threads = createThreads({ agent: createAgent({ model: scriptedModel(script) }), store })
  const first = await threads.send('t', 'x', { messageId: 'm' })
  expect(await first.result).toMatchObject({ text: 'One. Two.' })
  expect((await store.turns('t')).map(({ text }) => text)).toEqual(['One. Two.'])
  const second = await threads.send('t', 'x', { messageId: 'm', replacing: 'm' })
  expect(await second.result).toMatchObject({ text: 'Three.' })
  expect((await store.turns('t')).map((turn) => [turn.text, 'answer' in turn])).toEqual([['Three.', false]])
})
