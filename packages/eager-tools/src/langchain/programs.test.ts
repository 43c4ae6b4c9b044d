import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { Command, MemorySaver } from '@langchain/langgraph'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
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
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Agent, answer, human, later, Scripted, settled, shown } from '../../test/langchain.ts'
import { eager } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

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
  breaks: fc.constantFrom(false, false, false, true),
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

const program = fc.record({
  responses: fc.array(response, { minLength: 1, maxLength: 3 }),
  hooks: fc.uniqueArray(fc.constantFrom(...Object.keys(hooks)), {
    maxLength: 2,
    selector: (name) => name.split(' ')[0] ?? '',
  }),
  retries: fc.boolean(),
  isAdded: fc.boolean(),
  approval: fc.option(fc.constantFrom(['send'], ['put', 'hold'], ['read', 'put', 'hold']), { nil: undefined }),
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
  #asked = 0

  constructor(responses: readonly Response[]) {
    super([answer])
    this.#responses = responses
  }

  override async *_streamChatModelEvents(
    ...[, { signal }]: Parameters<Scripted['_streamChatModelEvents']>
  ): ReturnType<Scripted['_streamChatModelEvents']> {
    const at = this.#asked++
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

type Response = typeof response extends fc.Arbitrary<infer Value> ? Value : never
type Program = typeof program extends fc.Arbitrary<infer Value> ? Value : never

interface Came {
  readonly result: unknown
  /** `{name} {q}` for each execution that was not undone. */
  readonly executed: readonly string[]
  readonly undone: readonly string[]
  /** Whether a call has declined, or was prevented. */
  readonly warnings: readonly string[]
  readonly early: number
}

async function run(one: Program, isEager: boolean): Promise<Came> {
  const executed: string[] = []
  const undone: string[] = []
  const warnings: string[] = []
  const model = new Sealing(one.responses)
  let early = 0
  const tools = NAMES.map((name) =>
    tool(
      async ({ q }: { readonly q: string }, runtime: ToolRuntime) => {
        if (model.isStreaming && name !== 'read') early++
        if (one.reads === name) silently(() => Reflect.get(Object(runtime.state), 'messages'))
        await later(one.ms)
        if (one.fails === name) throw new Error('broken')
        executed.push(`${name} ${q}`)
        return `${name} ${q}`
      },
      { name, description: name, schema: z.object({ q: z.string() }) },
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
    onWarning: ({ code }: { readonly code: string }) => void warnings.push(code),
    ...(one.approval && { approval: one.approval }),
  }
  const options: object = {
    ...(isEager ? eager<object>(base, effects(undo) as object, settings) : base),
    ...(one.isAdded && own),
  }
  const result = await settled(talk(createAgent(options as Parameters<typeof createAgent>[0]), one.decision))
  await vi.advanceTimersByTimeAsync(31_000)
  return { result, executed, undone, warnings, early }
}

function silently(read: () => unknown): void {
  try {
    read()
  } catch {
    // As tools of MCP servers do.
  }
}

async function talk(agent: Agent, decision: string): Promise<unknown> {
  const config = { configurable: { thread_id: 't' }, version: 'v3' as const }
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

const count = (lines: readonly string[], name: string) => lines.filter((line) => line.startsWith(`${name} `)).length

/** The lines of one list that another does not have, each as often as it has more of them. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others]
  return lines.filter((line) => {
    const at = left.indexOf(line)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** What the reversible calls have left behind. */
const leftOf = ({ executed, undone }: Came) => {
  const left = executed.filter((line) => line.startsWith('hold '))
  for (const one of undone) {
    const at = left.indexOf(one)
    if (at < 0) throw new Error(`${one} was undone, but not executed`)
    left.splice(at, 1)
  }
  return left.sort()
}

test('random options and hooks: equal results, undeclared tools execute as often, and no accepted call is undone (W46, W47, W48)', async () => {
  let early = 0
  let declined = 0
  await fc.assert(
    fc.asyncProperty(program, async (one) => {
      const plain = await run(one, false)
      const came = await run(one, true)
      early += came.early
      expect(vi.getTimerCount()).toBe(0)
      expect(came.result).toEqual(plain.result)
      expect(count(came.executed, 'send')).toBe(count(plain.executed, 'send'))
      if (came.warnings.includes('tool-declined')) declined++
      // An early call that is not used has run once more: after a response that broke, a rejection, a run that failed, or
      // the first decline or denial, of which there is a warning.
      const hasFailed = 'thrown' in Object(plain.result) || one.responses.some(({ breaks }) => breaks)
      const isOften = hasFailed || one.decision === 'reject' || came.warnings.length > 0
      if (!isOften) expect(came.executed.toSorted()).toEqual(plain.executed.toSorted())
      // Even then nothing that the plain run executes is missing, and each more above `read` had started early.
      expect(without(plain.executed, came.executed)).toEqual([])
      const more = without(came.executed, plain.executed).filter((line) => !line.startsWith('read '))
      expect(more.length).toBeLessThanOrEqual(came.early)
      // What can be undone is undone once, and nothing else is.
      expect(leftOf(came)).toEqual(leftOf(plain))
    }),
    propertyRuns({ small: 20, middle: 80, whole: 3_000 }),
  )
  expect([early > 0, declined > 0]).toEqual([true, true])
})
