import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { until } from '../test/chat.ts'
import { LEASE, useFakeTime } from '../test/fake-time.ts'
import { processOf } from '../test/processes.ts'
import { createThreads, memoryThreads, type ThreadStore } from './index.ts'

useFakeTime()

/** A process whose turns each call a tool that takes four lease times, and then end. */
function opened(shared: ThreadStore) {
  const process = processOf(shared)
  const executed: string[] = []
  const work = tool({
    name: 'work',
    description: 'Works.',
    input: z.object({}),
    async execute(_, { callId }) {
      executed.push(callId)
      await new Promise((resolve) => setTimeout(resolve, 4 * LEASE))
      return 'done'
    },
  })
  const script = () => [respond(call('work')), respond(say('Done.'))]
  const threads = createThreads({
    store: process.store,
    lease: LEASE,
    agent: () => createAgent({ name: 'worker', model: scriptedModel(script()), tools: [work] }),
  })
  return { process, threads, executed }
}

async function texts({ threads }: ReturnType<typeof opened>, id: string): Promise<readonly unknown[]> {
  const { messages } = await threads.read(id)
  return messages.map(({ message }) => message.content).slice(-2)
}

const ENDED = [[{ type: 'text', text: 'done' }], [{ type: 'text', text: 'Done.' }]]

test('a process takes over no turn that it runs itself, also if its clock jumps an hour ahead, and renews its lease (W30)', async () => {
  const shared = memoryThreads()
  const own = opened(shared)
  const turn = await own.threads.send('t', 'go')
  await until(turn, 'tool-entered')
  vi.setSystemTime(Date.now() + 3_600_000)
  expect(await own.threads.recover()).toBe(0)
  expect(await shared.due(Date.now(), 10)).toEqual([])
  await vi.advanceTimersByTimeAsync(6 * LEASE)
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect([own.executed.length, await texts(own, 't')]).toEqual([1, ENDED])
})

test('after a suspension of all processes each renews its own leases, and none takes over a live turn of another (W30)', async () => {
  const shared = memoryThreads()
  const both = [opened(shared), opened(shared)]
  const turns = await Promise.all(both.map(({ threads }, index) => threads.send(`t${index}`, 'go')))
  for (const { threads } of both) threads.watch()
  for (let suspension = 0; suspension < 50; suspension++) {
    await vi.advanceTimersByTimeAsync(70)
    // The machine sleeps: no timer fires, and its monotonic clock stands still.
    vi.setSystemTime(Date.now() + 60_000)
  }
  await vi.advanceTimersByTimeAsync(4 * LEASE)
  for (const turn of turns) expect(await turn.result).toMatchObject({ status: 'completed' })
  for (const [index, process] of both.entries())
    expect([process.executed.length, await texts(process, `t${index}`)]).toEqual([1, ENDED])
})

test('after a suspension a process still takes over the turns of one that has died (W30)', async () => {
  const shared = memoryThreads()
  const [first, second] = [opened(shared), opened(shared)]
  const turn = await first.threads.send('t', 'go')
  await until(turn, 'tool-entered')
  second.threads.watch()
  first.process.kill()
  vi.setSystemTime(Date.now() + 60_000)
  await vi.advanceTimersByTimeAsync(8 * LEASE)
  expect(await (await second.threads.turn('t'))?.result).toMatchObject({ status: 'completed' })
})

test('if the clock is set back by an hour, a turn whose process dies is taken over when its lease has expired (W30)', async () => {
  const shared = memoryThreads()
  const [first, second] = [opened(shared), opened(shared)]
  const turn = await first.threads.send('t', 'go')
  await until(turn, 'tool-entered')
  vi.setSystemTime(Date.now() - 3_600_000)
  await vi.advanceTimersByTimeAsync(LEASE)
  first.process.kill()
  await vi.advanceTimersByTimeAsync(2 * LEASE)
  expect(await second.threads.recover()).toBe(1)
})

test('a turn from threads.turn knows for how long it has ended, by the clock of its store (W30)', async () => {
  const shared = memoryThreads()
  const now = () => Promise.resolve(Date.now() + 60_000)
  const store: ThreadStore = {
    ...shared,
    now,
    change: async (id, decide, options) => {
      const time = await now()
      return shared.change(id, (stored) => decide(stored, time), options)
    },
  }
  const { threads } = opened(store)
  const turn = await threads.send('t', 'go')
  expect(await threads.turn('t')).not.toHaveProperty('endedFor')
  await vi.advanceTimersByTimeAsync(5 * LEASE)
  await turn.result
  vi.setSystemTime(Date.now() + 500)
  const { endedFor = 0 } = (await threads.turn('t')) ?? {}
  expect(endedFor).toBeGreaterThanOrEqual(500)
  expect(endedFor).toBeLessThanOrEqual(500 + 1 * LEASE)
})
