import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { dispatchCustomEvent } from '@langchain/core/callbacks/dispatch'
import { ToolMessage } from '@langchain/core/messages'
import { RunnableLambda } from '@langchain/core/runnables'
import { BaseTracer } from '@langchain/core/tracers/base'
import { interrupt, MemorySaver, StateGraph } from '@langchain/langgraph'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { byTurns } from '@meanwhile/tests/size'
import { createMiddleware, modelRetryMiddleware, type ToolRuntime, tool } from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  answer,
  begin,
  breaks,
  human,
  looks,
  more,
  type Part,
  played,
  Scripted,
  text,
  wait,
} from '../../test/langchain.ts'
import { plainly, structured, telling } from '../../test/langchain-told.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

class Tracing extends BaseTracer {
  override readonly name = 'tracing'
  readonly #told: unknown[]

  constructor(told: unknown[]) {
    super({ _awaitHandler: true })
    this.#told = told
  }

  protected override async persistRun(run: object): Promise<void> {
    const tree = (one: object): unknown => {
      const { name, run_type, inputs, outputs, error, tags, extra, child_runs = [], events } = Object(one)
      const at = (events ?? []).map((event: { readonly name: string }) => event.name)
      return {
        name,
        run_type,
        inputs,
        outputs,
        error: String(error).split('\n')[0],
        tags,
        extra,
        at,
        child_runs: child_runs.map(tree),
      }
    }
    this.#told.push(structured(tree(run)))
  }
}

const chain = RunnableLambda.from(async function* (input: string) {
  yield `${input} 1`
  yield `${input} 2`
}).withConfig({ runName: 'chain' })

/** What a tool may do that callbacks report. */
const works: Readonly<Record<string, (runtime: ToolRuntime) => unknown>> = {
  'asks a model': async ({ config }) => {
    const inner = new Scripted([[text('in'), wait(5), text('ner')]])
    const { text: said } = await inner.withConfig({ tags: ['inner'], metadata: { of: 'look' } }).invoke('hello', config)
    return `the model said ${said}`
  },
  'asks a model that streams, without its config': async () => {
    let said = ''
    for await (const chunk of await new Scripted([[text('in'), text('ner')]]).stream('hello')) said += chunk.text
    return said
  },
  'runs a chain that streams': async ({ config }) => {
    const parts: unknown[] = []
    for await (const part of await chain.stream('part', config)) parts.push(part)
    return parts.join()
  },
  'stops reading a chain': async ({ config }) => {
    for await (const part of await chain.stream('part', config)) return part
    return 'nothing'
  },
  'dispatches an event': async ({ config }) => {
    await dispatchCustomEvent('half', { done: 0.5 }, config)
    return 'done'
  },
  throws: () => {
    throw new Error('broken')
  },
}

/** What one stream mode yields. */
type Read = (agent: Agent, callbacks: BaseCallbackHandler[], config: object) => Promise<readonly unknown[]>

const streamed =
  (streamMode: readonly string[]): Read =>
  async (agent, callbacks, config) => {
    const chunks: unknown[] = []
    const options: object = { ...config, callbacks, streamMode, subgraphs: true }
    for await (const chunk of await agent.stream(human(), options)) chunks.push(chunk)
    return chunks
  }

const events =
  (version: 'v1' | 'v2'): Read =>
  async (agent, callbacks, config) => {
    const all: unknown[] = []
    for await (const event of agent.streamEvents(human(), { ...config, callbacks, version }))
      all.push(structured(event))
    return all
  }

const reads: Readonly<Record<string, Read>> = {
  invoke: async (agent, callbacks, config) => [await agent.invoke(human(), { ...config, callbacks })],
  'streamEvents v1': events('v1'),
  'streamEvents v2': events('v2'),
  'streamEvents v3': async (agent, callbacks, config) => {
    const all: unknown[] = []
    const run = await agent.streamEvents(human(), { ...config, callbacks, version: 'v3' })
    // LangChain rejects these for a tool that fails, and with the run.
    const outputs = (async () => {
      const settled: Promise<unknown>[] = []
      for await (const { output } of run.toolCalls) settled.push(Promise.allSettled([output]))
      return Promise.all(settled)
    })().catch(() => undefined)
    for await (const event of run) all.push(structured(event))
    await outputs
    return all
  },
  ...Object.fromEntries(
    ['values', 'updates', 'messages', 'custom', 'debug', 'tasks', 'checkpoints', 'tools'].map((mode) => [
      mode,
      streamed([mode]),
    ]),
  ),
  'all modes': streamed(['values', 'updates', 'messages', 'custom', 'debug', 'tasks', 'checkpoints', 'tools']),
}

/** What tells most, and the rest, which mostly tells a part of it. */
const most = ['invoke', 'messages', 'all modes', 'streamEvents v2', 'streamEvents v3']
const rest = Object.keys(reads).filter((name) => !most.includes(name))

/** Each of these with some of the reads, by turns: in small runs with two of those that tell most, so that all of them occur. */
function readEach(names: readonly string[]): (readonly [read: string, name: string])[] {
  return names.flatMap((name, at) =>
    [
      ...byTurns(most, { small: 1, middle: 2, whole: 5 }, 2 * at),
      ...byTurns(rest, { small: 0, middle: 0, whole: rest.length }, 4 * at),
    ].map((read) => [read, name] as const),
  )
}

interface Case {
  readonly work?: ((runtime: ToolRuntime) => unknown) | undefined
  readonly generator?: boolean
  readonly responses?: readonly (readonly Part[])[]
  readonly middleware?: readonly object[]
}

async function told(read: Read, { work, generator, responses = [looks('1', 'a', 50), answer], middleware = [] }: Case) {
  const both: unknown[] = []
  const early: boolean[] = []
  let warnings: readonly string[] = []
  for (const isEager of [false, true]) {
    const callbacks: unknown[] = []
    let hasBegun = -1
    const began = performance.now()
    const fields = {
      name: 'look',
      description: 'looks',
      schema: z.object({ q: z.string() }),
      tags: ['seen'],
      metadata: { of: 'look' },
    }
    const begins = () => {
      if (hasBegun < 0) hasBegun = performance.now() - began
    }
    const run = async (_: unknown, runtime: ToolRuntime) => {
      begins()
      return (await work?.(runtime)) ?? 'ok'
    }
    async function* steps() {
      begins()
      yield 'one'
      yield 'two'
      return 'three'
    }
    const look = tool(generator ? steps : run, fields)
    const came = await played(
      {
        responses,
        streaming: true,
        settings: { alwaysStream: false },
        options: () => ({ tools: [look], middleware, checkpointer: new MemorySaver() }),
        go: async (agent) => {
          const config = { configurable: { thread_id: 't' }, tags: ['mine'], metadata: { user: 1 } }
          const handlers = [telling(callbacks), new Tracing(callbacks)]
          try {
            return await read(agent, handlers, config)
          } catch (error) {
            return String(error)
          }
        },
      },
      isEager,
    )
    warnings = came.warnings
    early.push(hasBegun >= 0 && hasBegun < 50)
    both.push({ result: plainly(came.result), callbacks: plainly(callbacks) })
  }
  return { both, early, warnings }
}

test.for(readEach([...Object.keys(works), 'yields']))(
  '%s: chunks, events and callbacks are equal if the tool %s (W48)',
  async ([read, work]) => {
    const { both, early } = await told(
      reads[read] as Read,
      work === 'yields' ? { generator: true } : { work: works[work] },
    )
    expect(both[1]).toEqual(both[0])
    expect(early).toEqual([false, true])
  },
)

const broken: readonly Part[] = [begin(0, '1', 'look'), more(0, '{"q":"a"}'), wait(50), breaks()]
const retries = modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, jitter: false })
const denies = createMiddleware({
  name: 'denies',
  wrapToolCall: ({ toolCall: { id = '' } }) => new ToolMessage({ content: 'denied', tool_call_id: id }),
})

const cases: Readonly<Record<string, Case>> = {
  'a response breaks, and another asks for nothing': { responses: [broken, answer], middleware: [retries] },
  'a response breaks, and another asks for the same with another id': {
    responses: [broken, looks('2', 'a', 50), answer],
    middleware: [retries],
  },
  'a response breaks, and the run with it': { responses: [broken] },
  'a middleware denies the call': { middleware: [denies] },
  'the tool needs the state': { work: ({ state }) => `${Object(state).messages.length}` },
  'a second call is joined while it runs': {
    responses: [looks('1', 'a', 50), looks('2', 'a', 5), answer],
    work: async ({ config }) => {
      const inner = new Scripted([[text('in'), wait(20), text('ner'), wait(20)]])
      return (await inner.invoke('hello', config)).content
    },
  },
}

test.for(readEach(Object.keys(cases)))(
  '%s: chunks, events and callbacks are equal if %s (W48)',
  async ([read, one]) => {
    const work = works['asks a model']
    const { both } = await told(reads[read] as Read, { work, ...cases[one] })
    expect(both[1]).toEqual(both[0])
  },
)

const graph = new StateGraph(z.object({ said: z.string().optional() }))
  .addNode('inner', ({ said }) => ({ said: `${said}!` }))
  .addEdge('__start__', 'inner')
  .addEdge('inner', '__end__')
  .compile()

/** What exists only when the response has ended. */
const late: Readonly<Record<string, (runtime: ToolRuntime) => unknown>> = {
  'reads the messages': ({ state }) => `${Object(state).messages.length}`,
  'writes to the stream': ({ writer }) => writer?.('half'),
  'reads the info of the execution': (runtime) =>
    JSON.stringify({ ...Object(runtime).executionInfo, nodeFirstAttemptTime: 0 }),
  'runs another graph': async ({ config }) => (await graph.invoke({ said: 'hi' }, config)).said,
  'runs another graph without its config': async () => (await graph.invoke({ said: 'hi' })).said,
  interrupts: () => interrupt('may it?'),
}

/** They contain the config of an inner graph as it is, with all handlers. */
const withConfigs = new Set(['debug', 'checkpoints', 'all modes'])
const lateReads = readEach(Object.keys(late)).filter(
  ([read, work]) => !(work.startsWith('runs another graph') && withConfigs.has(read)),
)

test.for(lateReads)(
  '%s: a tool of which a call was used %s while the agent waits for it: everything is equal, and it runs once (W46, W48)',
  async ([read, one]) => {
    let runs = 0
    const work = async (runtime: ToolRuntime) => {
      const { config, toolCallId } = runtime
      runs++
      const inner = new Scripted([[text('in'), wait(20), text('ner'), wait(20)]])
      const { content } = await inner.invoke('hello', config)
      return toolCallId === '2' ? late[one]?.(runtime) : content
    }
    const responses = [looks('1', 'a', 50), looks('2', 'a', 5), answer]
    const { both, early, warnings } = await told(reads[read] as Read, { work, responses })
    expect(both[1]).toEqual(both[0])
    expect([early, warnings, runs]).toEqual([[false, true], [], 4])
  },
)

/** A user's handler of stream events, which fails the streams that pass through it. */
class FailingTap extends BaseCallbackHandler {
  override readonly name = 'event_stream_tracer'
  override awaitHandlers = true

  async *tapOutputIterable(_: string, output: AsyncGenerator<unknown>): AsyncGenerator<unknown> {
    for await (const chunk of output) throw new Error(`no ${String(chunk)}`)
  }
}

test('the error of a handler that fails a stream is that of the call (W48)', async () => {
  const fails: Read = async (agent, _, config) => [
    await agent.invoke(human(), { ...config, callbacks: [new FailingTap()] }),
  ]
  const { both, early } = await told(fails, { work: works['runs a chain that streams'] })
  expect(JSON.stringify(both[0])).toContain('Error: no part 1')
  expect(both[1]).toEqual(both[0])
  expect(early).toEqual([false, true])
})

test.for(['messages', 'streamEvents v2', 'streamEvents v3'])(
  '%s: with two calls at once nothing is missing and nothing comes twice (W48)',
  async (mode) => {
    const calls = ['1', '2'].flatMap((id, at) => [begin(at, id, 'look'), more(at, `{"q":"${id}"}`)])
    const responses = [[...calls, wait(50), text('x')], answer]
    const { both } = await told(reads[mode] as Read, { work: works['asks a model'], responses })
    // The order between the two calls is open, and with it the numbers of runs and when a message gets its id.
    const [plain, eager] = both.map((one) =>
      Object.values(Object(one)).map((list) =>
        [list]
          .flat()
          .map((told) => JSON.stringify(told).replace(/#\d+/g, '#').replaceAll(',"id":"#"', ''))
          .sort(),
      ),
    )
    expect(eager).toEqual(plain)
  },
)
