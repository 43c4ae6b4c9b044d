import { postgresStore } from '@meanwhile/stores/postgres'
import { expect, test } from 'vitest'
import { memoryEngine, tables } from '../test/runs.ts'
import { answersOf, asking, dying, toldIn } from '../test/told-questions.ts'
import { createThreads, type Threads } from './index.ts'

const database = tables()

test('if a worker ends after a turn has told a question and before it is stored, its answer is refused for the question of the next worker (W51, TH6)', async () => {
  const { agent, paid } = asking(5, 99_999)
  const { pool, schema } = database
  let told = Promise.resolve('')
  const store = dying(postgresStore({ pool, schema }), async () => {
    await told
    throw new Error('the worker has ended')
  })
  const runs = database.runsOf(agent, memoryEngine(), { store })
  const threads = createThreads({ runs, store: database.newStore() }) as Threads<never>
  const turn = await threads.send('t', 'Go')
  told = toldIn(turn)
  database.work(runs)
  await turn.result
  expect(await threads.read('t')).toMatchObject({ status: 'waiting', interrupts: [{ payload: 'Really?' }] })
  expect(await answersOf(threads, await told)).toBe('UnknownInterruptError')
  expect(paid).toEqual([99_999])
})
