import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type ModelRequest, textOf, tool } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { LEASE, useFakeTime } from '../test/fake-time.ts'
import { processOf } from '../test/processes.ts'
import { createThreads, memoryThreads } from './index.ts'

useFakeTime()

test.for([
  { effect: 'read' as const, text: 'built 2' },
  { effect: 'external' as const, text: 'may have happened' },
])(
  'after a takeover a background call with the effect $effect has one result, the one that the model reads, even if its process died before it saved the first (TH2, TH6)',
  async ({ effect, text }) => {
    const shared = memoryThreads()
    let built = 0
    const open = () => {
      const process = processOf(shared)
      const build = tool({
        name: 'build',
        description: 'Builds.',
        input: z.object({}),
        background: true,
        effect,
        execute: async () => {
          await new Promise((resolve) => setTimeout(resolve, 200))
          return `built ${++built}`
        },
      })
      const answer = ({ messages }: ModelRequest) =>
        messages.some(({ role }) => role === 'tool')
          ? respond(wait(400), say('Done.'))
          : respond(call('build', {}, { id: 'b' }))
      const model = scriptedModel(Array.from({ length: 4 }, () => answer))
      const threads = createThreads({
        agent: createAgent({ model, tools: [build] }),
        store: process.store,
        lease: LEASE,
      })
      return { process, threads }
    }
    const [first, second] = [open(), open()]
    await first.threads.send('t', 'go')
    await vi.advanceTimersByTimeAsync(205)
    expect((await shared.events('t')).filter(({ event }) => event.type === 'background-end')).toHaveLength(1)
    first.process.kill()
    await vi.advanceTimersByTimeAsync(2 * LEASE)
    expect(await second.threads.recover()).toBe(1)
    await vi.advanceTimersByTimeAsync(4 * LEASE)
    const { background = [], messages, turns } = await second.threads.read('t')
    expect(turns).toMatchObject([{ status: 'completed' }])
    expect(background.map(({ message }) => textOf(message))).toEqual([expect.stringContaining(text)])
    const notices = messages
      .map(({ message }) => textOf(message))
      .filter((one) => one.startsWith('The background call'))
    expect(notices).toEqual([expect.stringContaining(text)])
  },
)
