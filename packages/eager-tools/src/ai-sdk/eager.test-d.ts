import {
  generateText,
  hasToolCall,
  isStepCount,
  type LanguageModel,
  Output,
  streamText,
  type Tool,
  ToolLoopAgent,
  type ToolSet,
  tool,
} from 'ai'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { eager } from './index.ts'

declare const model: LanguageModel

/** As in `@ai-sdk/mcp`. */
type McpTool<Input, Output> = Tool<Input, Output> & {
  execute: (input: Input, options?: object) => ReturnType<NonNullable<Tool<Input, Output>['execute']>>
  readonly _meta?: Readonly<Record<string, unknown>>
}

declare const mcp: { tools(): Promise<Record<string, McpTool<unknown, object>>> }

const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, deg: 1 }),
})
const book = tool({ inputSchema: z.object({ seat: z.number() }), execute: () => 'booked' })
const tools = { weather, book }

test('streamText keeps its inferred types of tools, outputs and callbacks (R11)', async () => {
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

test('generateText and an agent keep their inferred types (R11)', async () => {
  const output = Output.object({ schema: z.object({ answer: z.string() }) })
  const result = await generateText(eager({ model, tools, prompt: 'x', output }, { weather: 'read', book: 'external' }))
  expectTypeOf(result.output).toEqualTypeOf<{ answer: string }>()
  const agent = new ToolLoopAgent(eager({ model, tools }, { weather: 'read' }))
  const { toolResults } = await agent.generate({ prompt: 'x' })
  const [first] = toolResults
  if (first && !first.dynamic && first.toolName === 'book') expectTypeOf(first.output).toEqualTypeOf<string>()
})

test('options of streamText that are written inline keep their types (R11)', async () => {
  const prompt = 'x'
  const read = { weather: 'read' } as const
  const forced = { type: 'tool', toolName: 'weather' } as const
  streamText(eager({ model, tools, prompt, activeTools: ['weather'] }, read))
  streamText(eager({ model, tools, prompt, toolChoice: { type: 'tool', toolName: 'weather' } }, read))
  streamText(eager({ model, tools, prompt, prepareStep: () => ({ activeTools: ['weather'] }) }, read))
  streamText(eager({ model, tools, prompt, prepareStep: async () => ({ toolChoice: forced }) }, read))
  streamText(
    eager(
      {
        model,
        tools,
        prompt,
        prepareStep: ({ stepNumber }) =>
          stepNumber ? { activeTools: ['weather'] } : { toolChoice: { type: 'tool', toolName: 'weather' } },
        stopWhen: [isStepCount(3), hasToolCall('weather')],
        toolApproval: { book: 'user-approval' },
        runtimeContext: { user: 'ann' },
        onStepEnd: ({ toolCalls, runtimeContext }) => {
          expectTypeOf(runtimeContext).toEqualTypeOf<{ user: string }>()
          for (const { dynamic, toolName, input } of toolCalls)
            if (!dynamic && toolName === 'weather') expectTypeOf(input).toEqualTypeOf<{ city: string }>()
        },
        onChunk: ({ chunk }) => void expectTypeOf(chunk.type).toExtend<string>(),
        onFinish: ({ text }) => void expectTypeOf(text).toEqualTypeOf<string>(),
      },
      read,
    ),
  )
  // @ts-expect-error The tool does not exist.
  streamText(eager({ model, tools, prompt, activeTools: ['wether'] }, read))
  // @ts-expect-error The model is missing.
  streamText(eager({ tools, prompt }, read))
})

test('options of generateText that are written inline keep their types (R11)', async () => {
  const { toolResults } = await generateText(
    eager(
      {
        model,
        tools,
        prompt: 'x',
        activeTools: ['weather'],
        toolChoice: { type: 'tool', toolName: 'weather' },
        prepareStep: async ({ stepNumber }) =>
          stepNumber === 0 ? { toolChoice: { type: 'tool', toolName: 'weather' } } : { activeTools: ['book'] },
        onStepEnd: ({ usage }) => void expectTypeOf(usage.inputTokens).toEqualTypeOf<number | undefined>(),
      },
      { weather: 'read' },
    ),
  )
  const [first] = toolResults
  if (first && !first.dynamic && first.toolName === 'book') expectTypeOf(first.output).toEqualTypeOf<string>()
})

test('options of an agent that are written inline keep their types (R11)', async () => {
  const read = { weather: 'read' } as const
  new ToolLoopAgent(eager({ model, tools, prepareStep: ({ stepNumber }) => (stepNumber ? {} : {}) }, read))
  new ToolLoopAgent(eager({ model, tools, onStepEnd: ({ usage }) => void usage.inputTokens }, read))
  new ToolLoopAgent(
    eager({ model, tools, activeTools: ['weather'], prepareStep: () => ({ activeTools: ['book'] }) }, read),
  )
  const agent = new ToolLoopAgent(
    eager(
      {
        model,
        tools,
        callOptionsSchema: z.object({ user: z.string() }),
        prepareCall: ({ options, ...settings }) => ({ ...settings, instructions: options.user }),
        output: Output.object({ schema: z.object({ answer: z.string() }) }),
        stopWhen: isStepCount(3),
      },
      read,
    ),
  )
  const { output } = await agent.generate({ prompt: 'x', options: { user: 'ann' } })
  expectTypeOf(output).toEqualTypeOf<{ answer: string }>()
  // @ts-expect-error The options of the call are missing.
  void agent.generate({ prompt: 'x' })
  // @ts-expect-error This is an agent, not its options.
  eager(agent, {})
})

test("compensate has the types of the call's input and output, and is allowed only for calls that can be undone (R11)", () => {
  const options = { model, tools, prompt: 'x' }
  eager(options, {
    weather: {
      effect: 'reversible',
      compensate: (input, output) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string }>()
        expectTypeOf(output).toEqualTypeOf<{ city: string; deg: number }>()
      },
    },
    book: { effect: () => 'reversible', compensate: (_, output) => void expectTypeOf(output).toEqualTypeOf<string>() },
  })
  // @ts-expect-error A reversible tool needs `compensate`.
  eager(options, { weather: { effect: 'reversible' } })
  // @ts-expect-error A read is never undone.
  eager(options, { weather: { effect: 'read', compensate: () => undefined } })
})

test('the result can be spread (R11)', async () => {
  const options = { model, tools, prompt: 'x' }
  const spread = streamText({ ...eager(options, { weather: 'read' }), temperature: 0 })
  expectTypeOf(await spread.text).toEqualTypeOf<string>()
  const [first] = await spread.toolResults
  if (first && !first.dynamic && first.toolName === 'book') expectTypeOf(first.output).toEqualTypeOf<string>()
})

test('options without a prompt, and those with one, are shared between requests and agents (R11, W48)', async () => {
  const base = eager({ model, tools, temperature: 0 }, { weather: 'read' })
  const given = eager({ model, tools, prompt: 'x' }, { weather: 'read' })
  const last = eager({ model, tools, messages: [], stopWhen: isStepCount(2), maxRetries: 1 }, { weather: 'read' })
  for (const result of [
    streamText({ ...base, prompt: 'x' }),
    streamText({ ...base, messages: [], onFinish: ({ text }) => void expectTypeOf(text).toEqualTypeOf<string>() }),
    streamText({ ...given, prompt: 'y' }),
    streamText({ ...given, onStepFinish: ({ text }) => void text }),
    streamText({ ...last, toolApproval: { book: 'user-approval' } }),
    streamText({ ...base, prompt: 'x', prepareStep: () => ({ activeTools: ['weather'] }), streamRetries: 1 }),
  ]) {
    const [first] = await result.toolResults
    if (first && !first.dynamic && first.toolName === 'book') expectTypeOf(first.output).toEqualTypeOf<string>()
  }
  for (const result of [
    generateText({ ...base, prompt: 'x' }),
    generateText({ ...given, prompt: 'y' }),
    generateText({ ...base, messages: [], toolApproval: { book: 'user-approval' } }),
  ]) {
    const [first] = (await result).toolResults
    if (first && !first.dynamic && first.toolName === 'book') expectTypeOf(first.output).toEqualTypeOf<string>()
  }
  const agent = new ToolLoopAgent({ ...base, instructions: 'be brief' })
  const { toolResults } = await agent.generate({ prompt: 'x' })
  const [first] = toolResults
  if (first && !first.dynamic && first.toolName === 'book') expectTypeOf(first.output).toEqualTypeOf<string>()
  // @ts-expect-error The prompt is missing.
  streamText(base)
  // @ts-expect-error The tool does not exist.
  streamText({ ...base, prompt: 'x', toolApproval: { wether: 'user-approval' } })
})

test('tools of an MCP server can be spread next to others (R11, W48)', async () => {
  const all = { ...(await mcp.tools()), weather }
  const plain = streamText({ model, prompt: 'x', tools: all })
  const result = streamText(eager({ model, prompt: 'x', tools: all }, { weather: 'read' }))
  expectTypeOf(await result.toolResults).toEqualTypeOf<Awaited<typeof plain.toolResults>>()
  const base = eager({ model, tools: { ...(await mcp.tools()), weather } }, { weather: 'read' })
  streamText({ ...base, prompt: 'x' })
  void generateText({ ...base, prompt: 'x' })
  streamText(eager({ model, prompt: 'x', tools: { ...(await mcp.tools()), weather } }, { weather: 'read' }))
  streamText(eager({ model, prompt: 'x', tools: { weather, ...(await mcp.tools()) } }, { weather: 'read' }))
  streamText(
    eager(
      {
        model,
        prompt: 'x',
        tools: {
          ...(await mcp.tools()),
          look: tool({ inputSchema: z.object({ q: z.string() }), execute: async ({ q }) => q }),
        },
      },
      { look: 'read' },
    ),
  )
  // TypeScript forgets the names of the server's tools.
  const forgotten = { ...(await mcp.tools()), weather } as ToolSet
  streamText(eager({ model, prompt: 'x', tools: forgotten }, { weather: 'read', search: 'read' }))
  streamText(eager({ model, prompt: 'x', tools: await mcp.tools() }, { weather: 'read', other: 'read' }))
  streamText({ ...eager({ model, tools: await mcp.tools() }, { weather: 'read', other: 'read' }), prompt: 'x' })
  new ToolLoopAgent(eager({ model, tools: await mcp.tools() }, { weather: 'read', other: 'read' }))
  void generateText(eager({ model, prompt: 'x', tools: { ...(await mcp.tools()), weather } }, { weather: 'read' }))
  streamText(
    eager(
      {
        model,
        prompt: 'x',
        tools: { ...(await mcp.tools()), weather },
        stopWhen: isStepCount(2),
        onStepEnd: ({ text }) => void text,
      },
      { weather: 'read' },
    ),
  )
  new ToolLoopAgent(eager({ model, tools: { ...(await mcp.tools()), weather } }, { weather: 'read' }))
})

test('options whose tools have no names in their type keep that type (R11)', () => {
  const options: { readonly tools?: ToolSet; readonly mine: 1 } = { mine: 1 }
  expectTypeOf(eager(options, { anything: 'read' })).toEqualTypeOf<typeof options>()
})

test('effects accept only existing tools, and their functions have the type of the input (R11)', () => {
  // @ts-expect-error The tool does not exist.
  eager({ model, tools, prompt: 'x' }, { wether: 'read' })
  // @ts-expect-error The effect does not exist.
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
