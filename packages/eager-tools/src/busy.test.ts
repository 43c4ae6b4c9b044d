import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test.for([
  ['becomes free while the model is streaming', 100, [0, 100], ['looked', 'looked']],
  [
    'is still taken when the loop executes it',
    900,
    [0],
    ['looked', 'Not run: look is already running 1 call, its maximum.'],
  ],
] as const)(
  'a call that fails when its tool is busy waits while it is early: the slot %s (O6)',
  async ([, ms, starts, texts]) => {
    const begin = performance.now()
    const started: number[] = []
    const look = tool({
      name: 'look',
      description: 'Looks',
      input: z.object({ n: z.number() }),
      effect: 'read',
      concurrency: { limit: 1, whenFull: 'fail' },
      async execute() {
        started.push(performance.now() - begin)
        await new Promise((resolve) => setTimeout(resolve, ms))
        return 'looked'
      },
    }) as Tool
    const calls = [call('look', { n: 1 }, { deltas: 1 }), call('look', { n: 2 }, { deltas: 1 })]
    const model = scriptedModel([respond(...calls, wait(500)), respond(say('Done.'))])
    const running = createAgent({ model, tools: [look], middleware: [eagerTools()] }).run('Go')
    await vi.runAllTimersAsync()
    const { messages } = await running
    expect(started).toEqual(starts)
    const read = messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
    expect(read).toEqual(texts.map((text) => ({ type: 'text', text })))
  },
)
