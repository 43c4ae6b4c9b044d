import { Agent, RunContext, Runner } from '@openai/agents'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { eager } from './index.ts'

class MyRunner extends Runner {
  readonly mine = 1
}

const agent = new Agent({ name: 'a', outputType: z.object({ deg: z.number() }) })

test('a runner keeps its type, and its runs keep theirs', async () => {
  expectTypeOf(eager(new Runner(), { look: 'read' })).toEqualTypeOf<Runner>()
  expectTypeOf(eager(new MyRunner(), {})).toEqualTypeOf<MyRunner>()
  const runner = eager(new Runner(), { look: 'read' })
  const whole = await runner.run(agent, 'go')
  expectTypeOf(whole.finalOutput).toEqualTypeOf<{ deg: number } | undefined>()
  const streamed = await runner.run(agent, 'go', { stream: true, context: { user: 'ann' } })
  expectTypeOf(streamed.finalOutput).toEqualTypeOf<{ deg: number } | undefined>()
  expectTypeOf(streamed.completed).toEqualTypeOf<Promise<void>>()
  expectTypeOf(streamed.state._context).toEqualTypeOf<RunContext<{ user: string }>>()
  await runner.run(agent, 'go', { context: new RunContext({ user: 'ann' }) })
})

test('effects are strings, or objects whose functions receive the input', () => {
  const runner = new Runner()
  eager(runner, { look: 'read', put: 'idempotent', send: 'external' })
  eager(runner, {
    move: {
      effect: 'reversible',
      reads: ({ from }: { from: string }) => [from],
      compensate: (input: { from: string }, output) => {
        expectTypeOf(input.from).toEqualTypeOf<string>()
        expectTypeOf(output).toEqualTypeOf<unknown>()
      },
    },
    ask: { effect: ({ dry }: { dry: boolean }) => (dry ? 'read' : 'external') },
  })
  // @ts-expect-error The effect does not exist.
  eager(runner, { look: 'write' })
  // @ts-expect-error A reversible tool needs `compensate`.
  eager(runner, { look: 'reversible' })
  // @ts-expect-error The setting does not exist.
  eager(runner, { look: 'read' }, { streamAlways: true })
  // @ts-expect-error This is not a runner.
  eager(agent, { look: 'read' })
})
