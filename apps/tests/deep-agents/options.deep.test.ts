import { Command, InMemoryStore, MemorySaver } from '@langchain/langgraph'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { eager } from '@meanwhile/eager-tools/langchain'
import { type CreateDeepAgentParams, createDeepAgent, StateBackend, type SubAgent } from 'deepagents'
import { createAgent, createMiddleware, tool } from 'langchain'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  answer,
  begin,
  callOptions,
  human,
  looks,
  more,
  type Part,
  Scripted,
  shown,
  text,
  wait,
} from '../../../packages/eager-tools/test/langchain.ts'
import { inNoOrder, telling } from '../../../packages/eager-tools/test/langchain-told.ts'

const schema = z.object({ q: z.string() })

/** How many responses are streaming. */
let streaming = 0

class Watched extends Scripted {
  override async *_streamResponseChunks(
    ...given: Parameters<Scripted['_streamResponseChunks']>
  ): ReturnType<Scripted['_streamResponseChunks']> {
    streaming++
    try {
      yield* super._streamResponseChunks(...given)
    } finally {
      streaming--
    }
  }
}

const delegates = (to: string): readonly Part[] => [
  begin(0, 't', 'task'),
  more(0, JSON.stringify({ description: 'find it', subagent_type: to })),
  text('x'),
]

interface Case {
  readonly options?: () => object
  readonly added?: () => object
  /** What is given with the calls. */
  readonly config?: () => object
  /** A subagent of this name makes the call. */
  readonly to?: string
  readonly decision?: 'approve' | 'reject'
}

/** With `subgraphs` it is in a pair with the path of its graph. */
const stateOf = (came: object): object => (Array.isArray(came) ? came[1] : came)

/** What a user sees of a run with one call of `look`, how often it was executed, and whether that was early. */
async function seen({ options, added, config: own, to, decision = 'approve' }: Case, isEager: boolean) {
  const model = new Watched([...(to ? [delegates(to)] : []), looks('1', 'a', 150), answer, answer], true)
  const executed: string[] = []
  const warnings: string[] = []
  const callbacks: unknown[] = []
  let isEarly = false
  const look = tool(
    ({ q }) => {
      executed.push(q)
      isEarly ||= streaming > 0
      return `saw ${q}`
    },
    { name: 'look', description: 'looks', schema },
  )
  const given: object = { model, tools: [look], checkpointer: new MemorySaver(), ...options?.() }
  const settings = { onWarning: ({ code }: { readonly code: string }) => void warnings.push(code) }
  const from = isEager ? eager<object>(given, { look: 'read' } as object, settings) : given
  const agent = createDeepAgent({ ...from, ...added?.() })
  const config = { configurable: { thread_id: 't' }, ...own?.(), callbacks: [telling(callbacks)] }
  let state = stateOf(await agent.invoke(human() as never, config))
  const isPaused = '__interrupt__' in state
  const before = executed.length
  if (isPaused)
    state = stateOf(await agent.invoke(new Command({ resume: { decisions: [{ type: decision }] } }), config))
  const told = { messages: shown(state as never), executed, isPaused, before, callbacks: inNoOrder(callbacks) }
  return { told, warnings, isEarly }
}

/** Everything is equal, and the call starts early or not. */
async function expectEqual(one: Case, isEarly = true, warnings: readonly string[] = []) {
  const plain = await seen(one, false)
  const came = await seen(one, true)
  expect(came.told).toEqual(plain.told)
  expect(came.warnings).toEqual(warnings)
  expect([plain.isEarly, came.isEarly]).toEqual([false, isEarly])
}

/** Each option of `createDeepAgent`: a new one is missing here, and does not compile. */
const options: { readonly [Option in keyof Required<CreateDeepAgentParams>]: () => unknown } = {
  model: () => new Watched([looks('1', 'a', 150), answer, answer], true),
  tools: () => [tool(({ q }) => `saw ${q}`, { name: 'look', description: 'looks', schema })],
  systemPrompt: () => 'be brief',
  stateSchema: () => z.object({ city: z.string().default('Oslo') }),
  middleware: () => [createMiddleware({ name: 'idle', wrapToolCall: (request, ask) => ask(request) })],
  subagents: () => [{ name: 'finder', description: 'finds', systemPrompt: 'find' }],
  responseFormat: () => undefined,
  contextSchema: () => z.object({ user: z.string().default('u') }),
  checkpointer: () => new MemorySaver(),
  store: () => new InMemoryStore(),
  backend: () => (config: never) => new StateBackend(config),
  interruptOn: () => ({ look: true }),
  name: () => 'researcher',
  memory: () => [],
  skills: () => [],
  permissions: () => [],
  streamTransformers: () => [],
}

const warnsAdded: Readonly<Record<string, readonly string[]>> = {
  interruptOn: ['approval-unknown'],
  tools: ['tool-replaced'],
}

test.for(Object.keys(options).flatMap((option) => ['given', 'added'].map((way) => [option, way] as const)))(
  'createDeepAgent, %s, %s: calls, approvals, callbacks and texts are equal, and calls start early where they may (W47, W48)',
  async ([option, way]) => {
    const own = () => ({ [option]: options[option as keyof CreateDeepAgentParams]() })
    const warnings = way === 'given' ? [] : (warnsAdded[option] ?? [])
    // The tools of the table do not tell when they run.
    const isEarly = option !== 'interruptOn' && option !== 'tools' && !(way === 'added' && option === 'model')
    await expectEqual(way === 'given' ? { options: own } : { added: own }, isEarly, warnings)
  },
)

test.for(Object.keys(callOptions))(
  'a call of a deep agent with %s: calls, approvals, callbacks and texts are equal, and calls start early (W47, W48)',
  async (option) => {
    const config = () => ({ [option]: callOptions[option as keyof typeof callOptions]() })
    await expectEqual({ config })
    await expectEqual({ config, options: () => ({ interruptOn: { look: true } }) }, false)
  },
)

const finder = { name: 'finder', description: 'finds', systemPrompt: 'find' }
/** Each option of a subagent. */
const subagents: { readonly [Option in keyof Required<SubAgent>]: (tools: readonly unknown[]) => object } = {
  name: () => ({}),
  description: () => ({}),
  systemPrompt: () => ({}),
  mode: () => ({ mode: 'fork' }),
  tools: (tools) => ({ tools }),
  model: () => ({ model: new Watched([looks('1', 'a', 150), answer], true) }),
  middleware: () => ({
    middleware: [createMiddleware({ name: 'idle', wrapToolCall: (request, ask) => ask(request) })],
  }),
  interruptOn: () => ({ interruptOn: { look: true } }),
  skills: () => ({ skills: [] }),
  responseFormat: () => ({}),
  permissions: () => ({ permissions: [] }),
}

test.for(Object.keys(subagents))(
  'a subagent with %s: calls, approvals, callbacks and texts are equal, and calls start early where they may (W47, W48)',
  async (option) => {
    const look = tool(({ q }) => `saw ${q}`, { name: 'look', description: 'looks', schema })
    const own = () => ({ subagents: [{ ...finder, ...subagents[option as keyof SubAgent]([look]) }] })
    for (const decision of ['approve', 'reject'] as const)
      await expectEqual({ options: own, to: 'finder', decision }, option !== 'interruptOn' && option !== 'tools')
  },
)

test('tools start early in the deep agent and in its general subagent, if no approval guards them (W47)', async () => {
  await expectEqual({})
  await expectEqual({ to: 'general-purpose' })
  const guarded = { options: () => ({ interruptOn: { look: true } }), decision: 'reject' } as const
  await expectEqual(guarded, false)
  await expectEqual({ ...guarded, to: 'general-purpose' }, false)
})

test('a tool of an MCP server starts early and is executed once (W46)', async () => {
  const results: unknown[] = []
  for (const isEager of [false, true]) {
    const args = [`${import.meta.dirname}/mcp-server.mjs`]
    const client = new MultiServerMCPClient({
      mcpServers: { finds: { transport: 'stdio', command: process.execPath, args } },
    })
    onTestFinished(() => client.close())
    const tools = await client.getTools()
    const steps = ['1', '2', '3', '4', '5'].map((id) => looks(id, 'a', 60))
    let saved = 0
    const given = { model: new Scripted([...steps, [...answer, wait(1)]], true), tools }
    const onStep = ({ savedMs }: { readonly savedMs: number }) => {
      saved += savedMs
    }
    const agent = createAgent((isEager ? eager<object>(given, { look: 'read' } as object, { onStep }) : given) as never)
    results.push(shown((await agent.invoke(human() as never)) as never))
    expect(saved > 0).toBe(isEager)
  }
  expect(results[1]).toEqual(results[0])
})
