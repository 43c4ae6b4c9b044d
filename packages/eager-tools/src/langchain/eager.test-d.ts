import { createAgent, createMiddleware, tool } from 'langchain'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type EagerSettings, eager } from './index.ts'

const weather = tool(({ city }) => `sunny in ${city}`, {
  name: 'weather',
  description: 'tells the weather',
  schema: z.object({ city: z.string() }),
})
const book = tool(() => 'booked', { name: 'book', description: 'books', schema: z.object({ seat: z.number() }) })

test('an agent infers the same types from these options (R11)', async () => {
  const responseFormat = z.object({ answer: z.string() })
  const agent = createAgent(
    eager({ model: 'openai:gpt-5', tools: [weather, book], responseFormat }, { weather: 'read', book: 'external' }),
  )
  const { structuredResponse } = await agent.invoke({ messages: 'Go' })
  expectTypeOf(structuredResponse.answer).toEqualTypeOf<string>()
})

test('the state that a middleware adds is in the result (R11)', async () => {
  const counting = createMiddleware({ name: 'counting', stateSchema: z.object({ n: z.number().default(0) }) })
  const stateSchema = z.object({ k: z.string() })
  const agent = createAgent(
    eager({ model: 'openai:gpt-5', tools: [weather], middleware: [counting], stateSchema }, { weather: 'read' }),
  )
  const result = await agent.invoke({ messages: [], k: 'x' })
  expectTypeOf(result.n).toEqualTypeOf<number>()
  expectTypeOf(result.k).toEqualTypeOf<string>()
})

test('the options keep their type (R11)', () => {
  const options = { model: 'openai:gpt-5', tools: [weather, book] }
  expectTypeOf(eager(options, { weather: 'read' })).toEqualTypeOf<typeof options>()
})

test('effects accept only existing tools, and have the type of their input (R11)', () => {
  // @ts-expect-error An agent is not its options.
  eager(createAgent({ model: 'openai:gpt-5', tools: [weather] }), {})
  const options = { model: 'openai:gpt-5', tools: [weather, book] }
  // @ts-expect-error The tool does not exist.
  eager(options, { wether: 'read' })
  // @ts-expect-error The effect does not exist.
  eager(options, { weather: 'write' })
  eager(options, {
    weather: {
      effect: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string }>()
        return 'read'
      },
    },
  })
})

test('tools without names in their types may be declared by any name (R11)', () => {
  const tools: readonly { readonly name: string }[] = [weather, book]
  const options = { model: 'openai:gpt-5', tools }
  const effects = { anything: { effect: (_input: { city: string }) => 'read' as const } }
  expectTypeOf(eager(options, effects)).toEqualTypeOf<typeof options>()
})

test('settings (R11)', () => {
  expectTypeOf(eager).parameter(2).toEqualTypeOf<EagerSettings | undefined>()
})
