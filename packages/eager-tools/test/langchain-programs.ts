/** Runs random LangChain agents, with broken responses, hooks and approvals: unchanged, and with early tools. */

import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { Command, MemorySaver } from '@langchain/langgraph'
import fc from 'fast-check'
import {
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  modelRetryMiddleware,
  type ToolRuntime,
  tool,
  toolCallLimitMiddleware,
  toolRetryMiddleware,
} from 'langchain'
import { vi } from 'vitest'
import { z } from 'zod'
import { eager } from '../src/langchain/index.ts'
import { type Agent, answer, human, later, Scripted, settled, shown } from './langchain.ts'
import { inNoOrder, telling } from './langchain-told.ts'

const question = z.object({ q: z.string() })
const NAMES = ['read', 'put', 'hold', 'send'] as const
const effects = (undo: (input: object) => void) => ({
  read: 'read',
  put: 'idempotent',
  hold: { effect: 'reversible', compensate: undo },
})

const call = fc.record({
  name: fc.constantFrom(...NAMES),
  q: fc.constantFrom('a', 'b', 'c'),
  pause: fc.constantFrom(0, 10),
})
const response = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  tail: fc.constantFrom(0, 20, 60),
  breaks: fc.constantFrom(false, false, true),
  /** After a response that breaks off, it has the same calls. */
  repeats: fc.constantFrom(false, true, true),
})

type Drawn = typeof response extends fc.Arbitrary<infer Value> ? Value : never

const repeated = (responses: readonly Drawn[]): readonly Drawn[] =>
  responses.map((one, at) => {
    const before = responses[at - 1]
    return before?.breaks && one.repeats ? { ...one, calls: before.calls } : one
  })

const denies = (name: string) =>
  createMiddleware({
    name: 'denies',
    wrapToolCall: (request, ask) =>
      request.toolCall.name === name
        ? new ToolMessage({ content: 'denied', tool_call_id: request.toolCall.id ?? '' })
        : ask(request),
  })
const passes = () =>
  createMiddleware({
    name: 'passes',
    wrapToolCall: (request, ask) => ask(request),
    wrapModelCall: (request, ask) => ask(request),
  })
const copies = () =>
  createMiddleware({
    name: 'copies',
    async wrapModelCall(request, ask) {
      const { content, tool_calls = [], id } = await ask(request)
      return new AIMessage({ content, tool_calls: structuredClone(tool_calls), ...(id && { id }) })
    },
  })
// With `exactOptionalPropertyTypes` their parameters are `never`.
const hooks: Readonly<Record<string, () => object>> = {
  passes,
  copies,
  'denies read': () => denies('read'),
  'denies hold': () => denies('hold'),
  'approves send': () => humanInTheLoopMiddleware({ interruptOn: { send: true } } as never),
  'approves put': () => humanInTheLoopMiddleware({ interruptOn: { put: true } } as never),
  'limits hold': () => toolCallLimitMiddleware({ toolName: 'hold', runLimit: 1 } as never),
  'retries tools': () => toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, jitter: false }),
}

export const programs = fc.record({
  responses: fc.array(response, { minLength: 1, maxLength: 3 }).map(repeated),
  hooks: fc.uniqueArray(fc.constantFrom(...Object.keys(hooks)), {
    maxLength: 2,
    selector: (name) => name.split(' ')[0] ?? '',
  }),
  retries: fc.boolean(),
  isAdded: fc.boolean(),
  approval: fc.option(fc.constantFrom<(readonly string[])[]>(['send'], ['put', 'hold'], ['read', 'put', 'hold']), {
    nil: undefined,
  }),
  decision: fc.constantFrom('approve', 'reject'),
  version: fc.constantFrom('v1', 'v2'),
  ms: fc.constantFrom(0, 15, 80),
  /** A tool fails, or reads what exists only after the response. */
  fails: fc.option(fc.constantFrom(...NAMES), { nil: undefined }),
  reads: fc.option(fc.constantFrom(...NAMES), { nil: undefined }),
})
/** Streams each call as a separate block, which is finished as soon as it is complete. */
class Sealing extends Scripted {
  isStreaming = false
  readonly #responses: readonly Response[]
  /** How many responses have begun. */
  asked = 0

  constructor(responses: readonly Response[]) {
    super([answer])
    this.#responses = responses
  }

  override async *_streamChatModelEvents(
    ...[, { signal }]: Parameters<Scripted['_streamChatModelEvents']>
  ): ReturnType<Scripted['_streamChatModelEvents']> {
    const at = this.asked++
    const { calls, tail, breaks } = this.#responses[at] ?? { calls: [], tail: 0, breaks: false }
    this.isStreaming = true
    try {
      yield { event: 'message-start', id: `answer-${at}` }
      for (const [index, { name, q, pause }] of calls.entries()) {
        const [id, args] = [`${at}-${index}`, { q }]
        yield { event: 'content-block-start', index, content: { type: 'tool_call_chunk', id, name, args: '' } }
        const fields = { type: 'tool_call_chunk' as const, id, name, args: JSON.stringify(args) }
        yield { event: 'content-block-delta', index, delta: { type: 'block-delta', fields } }
        yield { event: 'content-block-finish', index, content: { type: 'tool_call', id, name, args } }
        await later(pause, signal)
      }
      const index = calls.length
      yield { event: 'content-block-start', index, content: { type: 'text', text: '' } }
      await later(tail, signal)
      if (breaks) throw new Error('socket hang up')
      yield { event: 'content-block-delta', index, delta: { type: 'text-delta', text: 'done' } }
      yield { event: 'content-block-finish', index, content: { type: 'text', text: 'done' } }
      yield { event: 'message-finish', reason: 'stop' }
    } finally {
      this.isStreaming = false
    }
  }
}

export type Response = Drawn
export type Program = typeof programs extends fc.Arbitrary<infer Value> ? Value : never

/** One execution of a tool: `{name} {q}`, and whether the model was still streaming. */
export interface Execution {
  readonly callId: string
  readonly content: string
  readonly isEarly: boolean
}

/** A warning: its tool starts early no more, and how many responses the model had begun by then. */
export interface Warned {
  readonly code: string
  readonly tool: string
  readonly asked: number
}

export interface Came {
  readonly result: unknown
  readonly executions: readonly Execution[]
  /** The contents of the executions that have succeeded, and of those that were undone. */
  readonly succeeded: readonly string[]
  readonly undone: readonly string[]
  readonly warned: readonly Warned[]
  /** How many responses the model has begun. */
  readonly asked: number
  /** What the callbacks have received, in no order, because calls at the same time may end in any order. */
  readonly told: readonly string[]
}

export async function run(one: Program, isEager: boolean): Promise<Came> {
  const executions: Execution[] = []
  const succeeded: string[] = []
  const undone: string[] = []
  const warned: Warned[] = []
  const told: unknown[] = []
  const model = new Sealing(one.responses)
  const tools = NAMES.map((name) =>
    tool(
      async ({ q }: { readonly q: string }, runtime: ToolRuntime) => {
        const content = `${name} ${q}`
        executions.push({ callId: runtime.toolCallId, content, isEarly: model.isStreaming })
        if (one.reads === name) silently(() => Reflect.get(Object(runtime.state), 'messages'))
        await later(one.ms)
        if (one.fails === name) throw new Error('broken')
        succeeded.push(content)
        return content
      },
      { name, description: name, schema: question },
    ),
  )
  const undo = (input: object) => void undone.push(`hold ${Reflect.get(input, 'q')}`)
  const own = {
    middleware: [
      ...(one.retries ? [modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, jitter: false })] : []),
      ...one.hooks.map((name) => hooks[name]?.() ?? {}),
    ],
  }
  const base: object = { model, tools, version: one.version, checkpointer: new MemorySaver(), ...(!one.isAdded && own) }
  const settings = {
    seals: true,
    independent: [...NAMES],
    onWarning: ({ code, message }: { readonly code: string; readonly message: string }) =>
      void warned.push({ code, tool: message.split(' ')[0] ?? '', asked: model.asked }),
    ...(one.approval && { approval: one.approval }),
  }
  const options: object = {
    ...(isEager ? eager<object>(base, effects(undo) as object, settings) : base),
    ...(one.isAdded && own),
  }
  const agent = createAgent(options as Parameters<typeof createAgent>[0])
  const result = await settled(talk(agent, one.decision, told))
  await vi.advanceTimersByTimeAsync(31_000)
  return { result, executions, succeeded, undone, warned, asked: model.asked, told: inNoOrder(told) }
}

function silently(read: () => unknown): void {
  try {
    read()
  } catch {
    // As tools of MCP servers do.
  }
}

async function talk(agent: Agent, decision: string, told: unknown[]): Promise<unknown> {
  const config = { configurable: { thread_id: 't' }, version: 'v3' as const, callbacks: [telling(told)] }
  const run = async (input: Parameters<Agent['streamEvents']>[0]) => {
    const stream = await agent.streamEvents(input, config)
    // LangChain rejects these for a tool that fails, and with the run.
    const outputs = (async () => {
      const settled: Promise<unknown>[] = []
      for await (const { output } of stream.toolCalls) settled.push(Promise.allSettled([output]))
      return Promise.all(settled)
    })().catch(() => undefined)
    const state = await stream.output
    await outputs
    return state
  }
  let state = await run(human())
  for (let turn = 0; turn < 5; turn++) {
    const { tasks } = await agent.graph.getState(config)
    const [asked] = tasks.flatMap(({ interrupts }) => interrupts)
    if (!asked) break
    const decisions = Object(asked.value).actionRequests.map(() => ({ type: decision }))
    state = await run(new Command({ resume: { decisions } }))
  }
  return shown(state)
}
