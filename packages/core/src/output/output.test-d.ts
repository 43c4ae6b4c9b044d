import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type Agent, type AgentResult, createAgent, type Model } from '../index.ts'

const model = {} as Model

test('an agent with an output schema has results of its type (M14)', () => {
  const agent = createAgent({ model, output: z.object({ city: z.string(), days: z.coerce.number() }) })
  type Output = { city: string; days: number }
  expectTypeOf(agent).toEqualTypeOf<Agent<Output>>()
  expectTypeOf(agent.run).returns.resolves.toEqualTypeOf<AgentResult<Output>>()
  expectTypeOf(agent.stream('Hi').result).resolves.toHaveProperty('output').toEqualTypeOf<Output | undefined>()
})

test('without one the output is unknown, and no type need be named (M14)', () => {
  const agent = createAgent({ model })
  expectTypeOf(agent).toEqualTypeOf<Agent>()
  expectTypeOf<AgentResult['output']>().toEqualTypeOf<unknown>()
  expectTypeOf(createAgent({ model, output: z.object({ n: z.number() }) })).toExtend<Agent>()
})
