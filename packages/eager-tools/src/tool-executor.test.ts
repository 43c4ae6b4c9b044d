import { getEventListeners } from 'node:events'
import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  type AgentEvent,
  agentTool,
  ConfigError,
  createAgent,
  interrupt,
  type Message,
  ModelError,
  type ModelEvent,
  RunAbortedError,
  type Tool,
  type ToolCall,
  textOf,
  tool,
} from '@meanwhile/core'
import { spanTree } from '@meanwhile/harness/otlp'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { sized } from '@meanwhile/tests/size'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { library } from '../test/library.ts'
import { toolOutline } from '../test/outline.ts'
import { pushed } from '../test/pushed.ts'
import { workshop } from '../test/workshop.ts'
import {
  createToolExecutor,
  eagerTools,
  type FinishedResponse,
  type ToolExecutor,
  type ToolExecutorOptions,
} from './index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const asked = (id: string, name: string, input: object): ToolCall => ({ type: 'tool-call', id, name, input })

/** The events of a call in its stream. */
const told = (id: string, name: string, input: object): readonly ModelEvent[] => [
  { type: 'tool-input-start', id, name },
  { type: 'tool-input-delta', id, delta: JSON.stringify(input) },
  { type: 'tool-call', call: asked(id, name, input) },
]

const outputs = ({ toolMessages }: FinishedResponse<unknown>) =>
  toolMessages.map(({ callId, output }) => [callId, output])

/** Each effect once, and text after the last call. */
const response = respond(
  call('look', { n: 1, ms: 300 }, { id: 'c1' }),
  call('put', { n: 2, ms: 10 }, { id: 'c2' }),
  call('send', { n: 3, ms: 10 }, { id: 'c3' }),
  wait(100),
  say('So.'),
)

test('calls start as their effects allow, the others when the response is finished; the messages are in call order (H37)', async () => {
  const { log, tools } = workshop()
  const executor = createToolExecutor({ tools })
  const finished = await played(pushed(executor, response).then(() => executor.finish()))
  expect(log).toEqual(['0 look 1', '0 put 2', '100 send 3'])
  expect(outputs(finished)).toEqual([
    ['c1', 'look 1'],
    ['c2', 'put 2'],
    ['c3', 'send 3'],
  ])
  expect(finished.isAnswer).toBe(false)
  expect(finished.response).toEqual([finished.message])
  expect(finished.results).toEqual(finished.toolMessages)
})

test('message, tool messages and events are those of the same response in an agent (H37, H16)', async () => {
  const { tools } = workshop()
  const executor = createToolExecutor({ tools, model: 'scripted-1' })
  const events: AgentEvent[] = []
  const reading = (async () => {
    for await (const event of executor.events) events.push(event)
  })()
  const { message, toolMessages } = await played(pushed(executor, response).then(() => executor.finish()))
  await reading

  const agent = createAgent({
    model: scriptedModel([response, respond(say('Done.'))]),
    tools: workshop().tools,
    middleware: [eagerTools()],
  })
  const run = await played(collect(agent.stream('Go')))
  expect([message, ...toolMessages]).toEqual(run.result?.messages.slice(1, 5))
  expect(toolOutline(events)).toEqual(toolOutline(run.events))
  expect(events.map(({ type }) => type).filter((type) => type.startsWith('run') || type.startsWith('step'))).toEqual([
    'run-start',
    'step-start',
    'step-end',
    'run-end',
  ])
})

test('the spans are those of a run with one step (H37, H28)', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const { tools } = workshop()
  const executor = createToolExecutor({ tools, name: 'own', model: 'm-1', telemetry: { tracerProvider } })
  await played(pushed(executor, response).then(() => executor.finish()))
  const spans = exporter.getFinishedSpans()
  const names = spans.map(({ name }) => name).filter((name) => !name.startsWith('middleware'))
  expect(names.toSorted()).toEqual([
    'chat m-1',
    'execute_tool look',
    'execute_tool put',
    'execute_tool send',
    'invoke_agent own',
  ])
  expect(spanTree(spans)).toHaveLength(1)
  const root = spans.find(({ name }) => name === 'invoke_agent own')
  expect(root?.attributes).toMatchObject({
    'meanwhile.outcome': 'completed',
    'meanwhile.step.count': 1,
    'meanwhile.tool_calls.early': 2,
    'meanwhile.tool_calls.committed': 2,
  })
})

test('a response without calls, or answered by a returnDirect tool, is an answer (H37)', async () => {
  const { make } = workshop()
  const direct = make('direct', 'read', { returnDirect: true })
  for (const [events, answer] of [
    [[{ type: 'text-delta', delta: 'Hello' }], true],
    [told('c1', 'direct', { n: 1 }), true],
    [told('c1', 'nobody', { n: 1 }), false],
  ] as const) {
    const executor = createToolExecutor({ tools: [direct] })
    for (const event of events) executor.push(event)
    const { isAnswer, result } = await played(executor.finish())
    expect([isAnswer, result.status, result.messages.map(({ role }) => role)]).toEqual([
      answer,
      'completed',
      events.length === 1 ? ['assistant'] : ['assistant', 'tool'],
    ])
  }
})

test('the policy and the other options are those of eagerTools and createAgent (H37)', async () => {
  const { log, tools } = workshop()
  const models: string[] = []
  const executor = createToolExecutor({
    tools,
    model: 'm-1',
    toolConcurrency: 1,
    policy: ({ name }, { model }) => {
      models.push(model.id)
      return name === 'look' ? 'wait' : 'start'
    },
  })
  const finished = played(pushed(executor, response).then(() => executor.finish()))
  expect(outputs(await finished)).toHaveLength(3)
  expect(log).toEqual(['100 look 1', '400 put 2', '410 send 3'])
  expect(new Set(models)).toEqual(new Set(['m-1']))
  expect(() => createToolExecutor({ tools, toolConcurrency: 0 })).toThrow(ConfigError)
  const wire = Object(() => undefined)
  expect(() => createToolExecutor({ tools, wire })).toThrow('wire: is not a wire; did you mean to call it, chatWire()?')
})

test('a result over outputLimits is not shown, and a pushed call that is too deep is an error result (P10, P11)', async () => {
  const speaks = tool({
    name: 'speak',
    description: 'Speaks.',
    input: z.looseObject({}),
    execute: () => 'x'.repeat(200),
  }) as Tool
  const executor = createToolExecutor({ tools: [speaks], outputLimits: { characters: 199 } })
  let deep: object = {}
  for (let n = 0; n < 10_000; n++) deep = { deep }
  const endless: { self?: object } = {}
  endless.self = endless
  for (const [id, input] of Object.entries({ a: {}, b: deep, c: endless }))
    executor.push({ type: 'tool-call', call: asked(id, 'speak', input) })
  const { toolMessages } = await executor.finish()
  expect(toolMessages.map(textOf)).toEqual([
    'The tool ran and finished; its result of 200 characters is not shown (limit 199).',
    'invalid input for speak: arguments are nested deeper than 512 levels',
    expect.stringMatching(/^invalid input for speak: arguments are not valid JSON: /),
  ])
})

const refused: readonly (readonly [option: string, options: unknown])[] = [
  ['options', undefined],
  ['options', null],
  ['polcy', { tools: [], polcy: () => 'wait' }],
  ['maxSteps', { tools: [], maxSteps: 3 }],
  ['independent', { tools: [], independent: 'send_mail' }],
  ['model', { tools: [], model: scriptedModel([]) }],
  ['signal', { tools: [], signal: new AbortController() }],
]

test.for(refused)('an invalid %s is refused with a ConfigError that names it (H37, A2)', ([option, options]) => {
  expect(() => createToolExecutor(options as ToolExecutorOptions)).toThrow(
    expect.objectContaining({ name: 'ConfigError', option }),
  )
})

test.for<{ readonly pushed: unknown }>([
  { pushed: { choices: [{ index: 0, delta: { content: 'Hello' } }] } },
  { pushed: { type: 'response.output_text.delta', delta: 'Hello' } },
  { pushed: null },
])('a client’s event without a wire is not an empty answer: $pushed (H37, A2)', async ({ pushed }) => {
  const executor = createToolExecutor({ tools: [] })
  executor.push(pushed as ModelEvent)
  await expect(executor.finish()).rejects.toMatchObject({ name: 'ConfigError', option: 'wire' })
})

test('a tool starts with the members it needs (H37, H31)', async () => {
  const { log, read } = library()
  const executor = createToolExecutor({ tools: [read] })
  executor.push({ type: 'tool-input-start', id: 'c1', name: 'read' })
  executor.push({ type: 'tool-input-delta', id: 'c1', delta: '{"path":"a.ts",' })
  await vi.advanceTimersByTimeAsync(10)
  executor.push({ type: 'tool-input-delta', id: 'c1', delta: '"from":3}' })
  executor.push({ type: 'tool-call', call: asked('c1', 'read', { path: 'a.ts', from: 3 }) })
  await played(executor.finish())
  expect(log).toEqual(['0 open a.ts', '10 read a.ts 3'])
})

const truncated = [
  [told('c1', 'look', { n: 1 }).slice(0, 2), 'other'],
  [told('c1', 'look', { n: 1 }), 'length'],
  [told('c1', 'look', { n: 1 }), 'content-filter'],
] as const

test('forbidden calls are not run: a call that was never sealed, a finish reason that forbids it (H37, H18)', async () => {
  for (const [events, reason] of truncated) {
    const { log, contexts, tools } = workshop()
    const executor = createToolExecutor({ tools })
    for (const event of events) executor.push(event)
    await vi.advanceTimersByTimeAsync(1)
    const { message, toolMessages } = await executor.finish(reason === 'other' ? undefined : reason)
    expect(message.finishReason).toBe(reason)
    expect(toolMessages.map(({ isError }) => isError)).toEqual([true])
    expect(log).toEqual(['0 look 1'])
    expect(contexts.every(({ signal }) => signal.aborted)).toBe(false)
  }
})

test('an empty response, or one that fails, rejects finish with its ModelError (H37)', async () => {
  const executor = createToolExecutor({ tools: [] })
  await expect(executor.finish()).rejects.toMatchObject({ name: 'ModelError', code: 'stream_truncated' })
  const failed = createToolExecutor({ tools: [] })
  failed.push({ type: 'text-delta', delta: 'Hel' })
  const outcome = failed.finish('error')
  await expect(outcome).rejects.toBeInstanceOf(ModelError)
})

test('arguments that change after they closed run once, with the final input (H37, H8)', async () => {
  const { log, tools } = workshop()
  const executor = createToolExecutor({ tools })
  executor.push({ type: 'tool-input-start', id: 'c1', name: 'look' })
  executor.push({ type: 'tool-input-delta', id: 'c1', delta: '{"n":1,"ms":50}' })
  await vi.advanceTimersByTimeAsync(10)
  executor.push({ type: 'tool-call', call: asked('c1', 'look', { n: 2, ms: 50 }) })
  const finished = await played(executor.finish())
  expect(log).toEqual(['0 look 1', '10 look 1 aborted', '10 look 2'])
  expect(outputs(finished)).toEqual([['c1', 'look 2']])
})

test('a call whose arguments cannot be parsed is not run, whatever remains of them (H37, G7)', async () => {
  for (const input of ['{"n":', '', '{"n":1}']) {
    const { log, make } = workshop()
    const executor = createToolExecutor({ tools: [make('any', 'read', { input: z.any() })] })
    executor.push({ type: 'tool-call', call: { ...asked('c1', 'any', {}), input, inputError: 'too long' } })
    const { message, toolMessages } = await executor.finish()
    expect(toolMessages.map(({ isError }) => isError)).toEqual([true])
    expect(message.content[0]).toMatchObject({ input: input === '{"n":' ? input : 'not usable: too long' })
    expect(log).toEqual([])
  }
})

test('a call of a response that is retried is joined by an equal one, and discarded otherwise (H38, H22)', async () => {
  for (const n of [1, 2]) {
    const { log, tools } = workshop()
    const executor = createToolExecutor({ tools })
    const events: AgentEvent[] = []
    const reading = (async () => {
      for await (const event of executor.events) events.push(event)
    })()
    for (const event of told('a1', 'look', { n: 1, ms: 100 })) executor.push(event)
    await vi.advanceTimersByTimeAsync(10)
    executor.retry(new Error('gone'))
    await vi.advanceTimersByTimeAsync(20)
    for (const event of told('b1', 'look', { n, ms: 100 })) executor.push(event)
    const finished = await played(executor.finish())
    await reading
    expect(outputs(finished)).toEqual([['b1', `look ${n}`]])
    expect(log).toEqual(n === 1 ? ['0 look 1'] : ['0 look 1', '30 look 2', '30 look 1 aborted'])
    const attempts = events.filter(({ type }) => type.startsWith('attempt'))
    expect(attempts).toMatchObject([
      { attempt: 1 },
      { attempt: 1, next: 'retry', error: { name: 'ModelError' } },
      { attempt: 2 },
    ])
  }
})

test('a wire that reads an error waits for the loop’s decision: retry or finish (H38)', async () => {
  const wire = {
    provider: 'own',
    reader:
      () =>
      (
        event: ToolCall | string,
        to: {
          call: (...given: [string, object]) => void
          seal(id: string, text: string): void
          finish(reason: 'tool-calls'): void
        },
      ) => {
        if (typeof event === 'string') throw new ModelError(event, { code: 'overloaded', retryable: true })
        to.call(event.id, event)
        to.seal(event.id, JSON.stringify(event.input))
        to.finish('tool-calls')
      },
    items: (messages: readonly Message[]) => messages.map(({ role }) => role),
  }
  const { log, tools } = workshop()
  const executor = createToolExecutor({ tools, wire })
  executor.push(asked('a1', 'look', { n: 1, ms: 100 }))
  await vi.advanceTimersByTimeAsync(10)
  executor.push('overloaded')
  await vi.advanceTimersByTimeAsync(10)
  executor.push(asked('a2', 'look', { n: 7 }))
  await vi.advanceTimersByTimeAsync(10)
  executor.retry()
  executor.push(asked('b1', 'look', { n: 1, ms: 100 }))
  const { response, results } = await played(executor.finish())
  expect([response, results]).toEqual([['assistant'], ['tool']])
  expect(log).toEqual(['0 look 1'])

  const failing = createToolExecutor({ tools, wire })
  failing.push('overloaded')
  await expect(failing.finish()).rejects.toMatchObject({ code: 'overloaded' })
})

test('push and retry after finish or abort throw; a second finish returns the same promise (H38)', async () => {
  const executor = createToolExecutor({ tools: [] })
  executor.push({ type: 'text-delta', delta: 'Hello' })
  const finished = executor.finish()
  expect(executor.finish()).toBe(finished)
  expect(() => executor.push({ type: 'text-delta', delta: '!' })).toThrow(TypeError)
  expect(() => executor.retry()).toThrow(TypeError)
  const { message } = await finished
  expect(message.content).toEqual([{ type: 'text', text: 'Hello' }])
  await executor.abort()
  expect(await executor.finish()).toEqual(await finished)

  const aborted = createToolExecutor({ tools: [] })
  const left = new Error('the user left')
  await aborted.abort(left)
  // In a loop that reads the stream, this ends the loop with the reason.
  const ended = expect.objectContaining({ name: 'AbortError', cause: left })
  expect(() => aborted.push({ type: 'text-delta', delta: '!' })).toThrow(ended)
  expect(() => aborted.retry()).toThrow(ended)
  expect(aborted.finish()).toBe(aborted.finish())
  await expect(aborted.finish()).rejects.toBeInstanceOf(RunAbortedError)
})

test('a timeout and abort end tools that never wait, however early they start (P9)', async () => {
  vi.useRealTimers()
  // Only the time limit has a fake clock: on a busy machine a real one may be over before the tool has begun to pour.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  let closed = 0
  let begun = () => {}
  const pour = tool({
    name: 'pour',
    description: 'Never waits.',
    input: z.object({}),
    effect: 'read',
    timeout: 30,
    async *execute() {
      begun()
      const begin = performance.now()
      try {
        while (performance.now() - begin < 2_000) yield { message: 'on' }
        return 'escaped'
      } finally {
        closed++
      }
    },
  }) as Tool
  const pouring = async () => {
    const begins = new Promise<void>((resolve) => {
      begun = resolve
    })
    const executor = createToolExecutor({ tools: [pour] })
    for (const event of told('p', 'pour', {})) executor.push(event)
    await begins
    await turn()
    return executor
  }
  const limited = await pouring()
  vi.advanceTimersByTime(30)
  const { toolMessages } = await limited.finish()
  expect(toolMessages.map(textOf)).toEqual([
    'pour was cut off after its time limit of 30 ms; its effect may have happened',
  ])
  expect(closed).toBe(1)
  const aborted = await pouring()
  await aborted.abort()
  expect(closed).toBe(2)
})

/** Ways to stop an executor, with the one signal it was created with. */
const ends: Readonly<
  Record<string, (executor: ToolExecutor<ModelEvent, Message>, controller: AbortController) => unknown>
> = {
  abort: (executor) => executor.abort('enough'),
  'abort after finish': (executor) => {
    void executor.finish()
    return executor.abort('enough')
  },
  'abort after retry': (executor) => {
    executor.retry()
    return executor.abort('enough')
  },
  'abort twice': (executor) => Promise.all([executor.abort('enough'), executor.abort()]),
  signal: (_, controller) => controller.abort('enough'),
  dispose: (executor) => executor[Symbol.asyncDispose](),
  'a reader that leaves': async ({ events }) => {
    for await (const _ of events) break
  },
}

test.each(Object.keys(ends))(
  '%s discards all calls, and leaves no timer, listener or rejection (H38, H24)',
  async (name) => {
    const { log, tools } = workshop()
    const controller = new AbortController()
    const executor = createToolExecutor({ tools, signal: controller.signal })
    for (const event of told('c1', 'look', { n: 1, ms: 1_000 })) executor.push(event)
    for (const event of told('c2', 'send', { n: 2 })) executor.push(event)
    await vi.advanceTimersByTimeAsync(10)
    await ends[name]?.(executor, controller)
    await vi.advanceTimersByTimeAsync(0)
    expect(log).toEqual(['0 look 1', '10 look 1 aborted'])
    expect(vi.getTimerCount()).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await expect(executor.finish()).rejects.toBeInstanceOf(RunAbortedError)
  },
)

test('a tool that ignores its signal delays abort at most by the grace time (H38, H20)', async () => {
  const { tools } = workshop()
  const executor = createToolExecutor({ tools, grace: 100 })
  for (const event of told('c1', 'look', { n: 1, ms: 500, deaf: true })) executor.push(event)
  await vi.advanceTimersByTimeAsync(10)
  const begin = performance.now()
  await Promise.all([executor.abort(), vi.advanceTimersByTimeAsync(200)])
  expect(performance.now() - begin).toBe(200)
  await expect(executor.finish()).rejects.toMatchObject({ abandoned: ['c1'] })
  await vi.runAllTimersAsync()
})

test('executors and runs that follow one signal add one listener, and none remains (P20, H38)', async () => {
  const { tools } = workshop()
  for (const isAborted of [false, true]) {
    const controller = new AbortController()
    const { signal } = controller
    const listeners = () => getEventListeners(signal, 'abort').length
    const executors = Array.from({ length: 5 }, () => createToolExecutor({ tools, signal }))
    const running = createAgent({ model: scriptedModel([respond(wait(50), say('Hi.'))]) }).run('Go', { signal })
    expect(listeners()).toBe(1)
    if (isAborted) controller.abort('enough')
    const finishing = executors.map((executor) => pushed(executor, response).then(() => executor.finish()))
    const outcomes = await played(Promise.allSettled([running, ...finishing]))
    expect(outcomes.filter(({ status }) => status === (isAborted ? 'rejected' : 'fulfilled'))).toHaveLength(6)
    expect(listeners()).toBe(0)
  }
})

test('with an aborted signal nothing starts (H38)', async () => {
  const { log, tools } = workshop()
  const executor = createToolExecutor({ tools, signal: AbortSignal.abort('no') })
  expect(() => executor.push({ type: 'text-delta', delta: 'x' })).toThrow(RunAbortedError)
  await expect(executor.finish()).rejects.toMatchObject({ cause: 'no' })
  expect(log).toEqual([])
})

test('a call that interrupts rejects finish, because nothing can resume it (H37)', async () => {
  const ask: Tool = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute() {
      throw interrupt('Really?')
    },
  }) as Tool
  const executor = createToolExecutor({ tools: [ask] })
  executor.push({ type: 'tool-call', call: asked('c1', 'ask', {}) })
  await expect(executor.finish()).rejects.toBeInstanceOf(ConfigError)
})

test('events of a run inside a call do not end the response (H37)', async () => {
  const inner = createAgent({ name: 'inner', description: 'Says hi.', model: scriptedModel([respond(say('Hi.'))]) })
  const { tools } = workshop()
  const executor = createToolExecutor({ tools: [agentTool(inner, { effect: 'read' }), ...tools] })
  for (const event of told('c1', 'inner', { request: 'Hello' })) executor.push(event)
  await vi.advanceTimersByTimeAsync(10)
  for (const event of told('c2', 'send', { n: 1 })) executor.push(event)
  const { toolMessages } = await played(executor.finish())
  expect(toolMessages.map(({ callId, isError = false }) => [callId, isError])).toEqual([
    ['c1', false],
    ['c2', false],
  ])
})

test('a burst of events is read completely (H37)', async () => {
  const executor = createToolExecutor({ tools: [] })
  const count = sized({ small: 5_000, middle: 5_000, whole: 20_000 })
  for (let n = 0; n < count; n++) executor.push({ type: 'text-delta', delta: 'x' })
  const { result } = await executor.finish()
  expect(result.text).toHaveLength(count)
})
