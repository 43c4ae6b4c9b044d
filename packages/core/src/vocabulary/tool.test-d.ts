import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { type Tool, tool } from '../index.ts'

const input = z.object({ city: z.string(), days: z.number().optional() })

test('a type error of a tool is reported at its place, also for common mistakes (P23)', () => {
  tool({
    name: 'weather',
    description: 'd',
    // @ts-expect-error It is called input, as the type of this says.
    inputSchema: input,
    execute: () => 'sunny',
  })
  tool({
    name: 'weather',
    description: 'd',
    // @ts-expect-error The same.
    parameters: input,
    execute: () => 'sunny',
  })
  // @ts-expect-error It has no compensate.
  tool({
    name: 'weather',
    description: 'd',
    input,
    effect: 'reversible',
    execute: () => 'sunny',
  })
  // @ts-expect-error It has no description.
  tool({
    name: 'weather',
    input,
    execute: () => 'sunny',
  })
  tool({
    name: 'weather',
    description: 'd',
    input,
    // @ts-expect-error There is no such member.
    needs: ['town'],
    execute: () => 'sunny',
  })
  tool({
    name: 'weather',
    description: 'd',
    input,
    // @ts-expect-error There is no such effect.
    effect: 'write',
    execute: () => 'sunny',
  })
  const right = tool({ name: 'weather', description: 'd', input, execute: ({ city }) => city.length })
  expectTypeOf(right).toExtend<Tool<{ city: string; days?: number | undefined }, number>>()
})

test('an effect is one of five, or a function of the input; compensate has the type of the output (P23, Q1, Q4)', () => {
  const undoable = tool({
    name: 'weather',
    description: 'd',
    input,
    effect: 'reversible',
    execute: ({ city }) => city.length,
    compensate(input, output) {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days?: number | undefined }>()
      expectTypeOf(output).toEqualTypeOf<number>()
    },
  })
  expectTypeOf(undoable).toExtend<Tool<{ city: string; days?: number | undefined }, number>>()
  tool({ ...undoable, name: 'depends', effect: ({ city }) => (city === 'Oslo' ? 'read' : 'external') })
  tool({ ...undoable, name: 'again' })
  const maker = tool({
    name: 'forecasts',
    description: 'd',
    input,
    effect: 'calls',
    needs: ['city'],
    warm: () => 'warm',
    async execute(needed, { rest, warmed, run }) {
      expectTypeOf(needed).toEqualTypeOf<{ city: string }>()
      expectTypeOf(await rest).toEqualTypeOf<{ city: string; days?: number | undefined }>()
      expectTypeOf(await warmed).toEqualTypeOf<string | undefined>()
      return (await run?.callTool({ type: 'tool-call', id: '1', name: 'weather', input: needed }))?.output
    },
  })
  expectTypeOf(maker).toExtend<Tool<{ city: string; days?: number | undefined }>>()
})

test('a tool that is made from another may do something else with the same input', () => {
  const first = tool({ name: 'weather', description: 'd', input, execute: ({ city }) => city })
  const second = tool({
    ...first,
    name: 'forecast',
    execute({ city, days = 1 }) {
      expectTypeOf(days).toEqualTypeOf<number>()
      return city.repeat(days)
    },
  })
  expectTypeOf(second.execute).returns.toEqualTypeOf<ReturnType<typeof first.execute>>()
})

test('execute of a tool with an empty list of needs receives no member of its input, and the rest (Q5)', () => {
  const first = tool({
    name: 'weather',
    description: 'd',
    input,
    effect: 'read',
    needs: [],
    async execute(needed, { rest }) {
      expectTypeOf(needed).not.toHaveProperty('city')
      expectTypeOf(rest).resolves.toEqualTypeOf<{ city: string; days?: number | undefined }>()
      return (await rest).city.length
    },
  })
  expectTypeOf(first).toExtend<Tool<{ city: string; days?: number | undefined }, number>>()
  const later: readonly 'city'[] = []
  tool({
    ...first,
    needs: later,
    execute(needed, { rest }) {
      expectTypeOf(needed).toEqualTypeOf<{ city: string }>()
      expectTypeOf(rest).resolves.toEqualTypeOf<{ city: string; days?: number | undefined }>()
      return 1
    },
  })
})
