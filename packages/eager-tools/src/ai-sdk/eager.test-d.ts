import { generateText, isStepCount, type LanguageModel, Output, streamText, ToolLoopAgent, tool } from 'ai'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { eager } from './index.ts'

declare const model: LanguageModel

const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, deg: 1 }),
})
const book = tool({ inputSchema: z.object({ seat: z.number() }), execute: () => 'booked' })
const tools = { weather, book }

test('streamText keeps what it infers of tools, outputs and callbacks (R11)', async () => {
  const result = streamText(
    eager(
      {
        model,
        tools,
        prompt: 'x',
        stopWhen: isStepCount(3),
        onStepEnd: (event) => {
          expectTypeOf(event.stepNumber).toEqualTypeOf<number>()
        },
      },
      { weather: 'read' },
    ),
  )
  for await (const part of result.fullStream) {
    if (part.type !== 'tool-result' || part.dynamic || part.toolName !== 'weather') continue
    expectTypeOf(part.output).toEqualTypeOf<{ city: string; deg: number }>()
    expectTypeOf(part.toolName).toEqualTypeOf<'weather'>()
  }
})

test('generateText and an agent keep theirs (R11)', async () => {
  const output = Output.object({ schema: z.object({ answer: z.string() }) })
  const result = await generateText(eager({ model, tools, prompt: 'x', output }, { weather: 'read', book: 'external' }))
  expectTypeOf(result.output).toEqualTypeOf<{ answer: string }>()
  const agent = new ToolLoopAgent(eager({ model, tools }, { weather: 'read' }))
  const { toolResults } = await agent.generate({ prompt: 'x' })
  const [first] = toolResults
  if (first && !first.dynamic && first.toolName === 'book') expectTypeOf(first.output).toEqualTypeOf<string>()
})

test('effects are of the tools there are, and their functions know the input (R11)', () => {
  // @ts-expect-error There is no such tool.
  eager({ model, tools, prompt: 'x' }, { wether: 'read' })
  // @ts-expect-error There is no such effect.
  eager({ model, tools, prompt: 'x' }, { weather: 'write' })
  // @ts-expect-error A reversible tool needs `compensate`.
  eager({ model, tools, prompt: 'x' }, { weather: 'reversible' })
  eager(
    { model, tools, prompt: 'x' },
    {
      weather: {
        effect: ({ city }) => (city === 'Oslo' ? 'read' : 'external'),
        reads: (input) => {
          expectTypeOf(input).toEqualTypeOf<{ city: string }>()
          return [input.city]
        },
      },
    },
  )
})
