import { expect, test, vi } from 'vitest'
import { LEASE, useFakeTime } from '../test/fake-time.ts'
import { processOf } from '../test/processes.ts'
import { answersOf, asking, hasQuestion, toldIn } from '../test/told-questions.ts'
import { createThreads, memoryThreads, type ThreadStore, type Threads } from './index.ts'

useFakeTime()

test('if a process ends after a turn has told a question and before it is stored, its answer is refused for the question of the next process (W51, TH6)', async () => {
  const shared = memoryThreads()
  const process = processOf(shared)
  const change: ThreadStore['change'] = (id, decide, options) =>
    process.store.change(
      id,
      (stored, now) => {
        const made = decide(stored, now)
        if (made.checkpoint && hasQuestion(made.checkpoint.checkpoint)) {
          process.kill()
          throw new Error('the process has ended')
        }
        return made
      },
      options,
    )
  const first = createThreads({
    agent: asking(5).agent,
    store: { ...process.store, change },
    lease: LEASE,
    onError() {},
  })
  const told = await toldIn(await first.send('t', 'Go'))
  await vi.advanceTimersByTimeAsync(2 * LEASE)
  expect(process.isDead).toBe(true)
  const { agent, paid } = asking(99_999)
  const second = createThreads({ agent, store: shared, lease: LEASE }) as Threads<never>
  expect(await second.recover()).toBe(1)
  await vi.advanceTimersByTimeAsync(10)
  expect(await second.read('t')).toMatchObject({ status: 'waiting', interrupts: [{ payload: 'Really?' }] })
  expect(await answersOf(second, told)).toBe('UnknownInterruptError')
  expect(paid).toEqual([99_999])
})
