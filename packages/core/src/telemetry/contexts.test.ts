import { call, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { spanOutline } from '@meanwhile/harness/otlp'
import { context, createNoopMeter, type MeterProvider, type Span, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early, withdrawing } from '../../test/early-calls.ts'
import { type Observed, observed } from '../../test/observed.ts'
import {
  type Agent,
  type AgentOptions,
  agentTool,
  createAgent,
  interrupt,
  type Middleware,
  type Model,
  memoryStore,
  type Tool,
  textOf,
  tool,
} from '../index.ts'

// The parents of spans that users start in their own code without a parent.

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return () => context.disable()
})

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({})

/** Starts and ends a span in the active context, as an instrumented library does. */
const noting =
  ({ telemetry }: Observed) =>
  (name: string) =>
    telemetry.tracerProvider.getTracer('app').startSpan(name).end()

/** As lines, indented by two spaces per level. */
const outline = ({ spans }: Observed) => spanOutline(spans()).split('\n')

/** The names of the parents of the spans with each name. */
function parents({ spans }: Observed): Readonly<Record<string, readonly (string | undefined)[]>> {
  const names = new Map(spans().map((span) => [span.spanContext().spanId, span.name]))
  const above = new Map<string, Set<string | undefined>>()
  for (const { name, parentSpanContext } of spans()) {
    const known = above.get(name) ?? new Set()
    above.set(name, known.add(parentSpanContext && names.get(parentSpanContext.spanId)))
  }
  return Object.fromEntries([...above].map(([name, set]) => [name, [...set]]))
}

async function played(work: Promise<unknown>): Promise<void> {
  const done = work.catch(() => undefined)
  await vi.runAllTimersAsync()
  await done
}

const done = respond(say('Done.'))

function agentOf(here: Observed, responses: readonly ScriptResponse[], options: Partial<AgentOptions>): Agent {
  return createAgent({ model: scriptedModel(responses), telemetry: here.telemetry, ...options })
}

for (const mode of ['eager', 'waiting'] as const) {
  test(`${mode}: a tool’s own spans are its children: before and after an await and a yield, and in finally`, async () => {
    const here = observed()
    const note = noting(here)
    const nosy = tool({
      name: 'nosy',
      description: 'n',
      input,
      effect: 'read',
      async *execute() {
        try {
          note('at first')
          await sleep(10)
          note('after await')
          yield { progress: 0.5 }
          note('after yield')
          await sleep(10)
        } finally {
          note('finally')
          await sleep(10)
          note('at last')
        }
      },
    }) as Tool
    const middleware = mode === 'eager' ? [early] : []
    const responses = [respond(call('nosy'), wait(15), say('.')), done]
    await played(agentOf(here, responses, { tools: [nosy], middleware }).run('Go'))
    const lines = outline(here)
    const at = lines.findIndex((line) => line.endsWith('execute_tool nosy'))
    expect(lines.slice(at, at + 6)).toEqual([
      '  execute_tool nosy',
      '    at first',
      '    after await',
      '    after yield',
      '    finally',
      '    at last',
    ])
  })
}

test('a tool that is aborted, and a generator that is closed, clean up in their own span', async () => {
  const here = observed()
  const note = noting(here)
  const aborted = tool({
    name: 'aborted',
    description: 'a',
    input,
    async execute(_, { signal }) {
      try {
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      } finally {
        note('aborted: finally')
      }
    },
  }) as Tool
  const closed = tool({
    name: 'closed',
    description: 'c',
    input,
    async *execute() {
      try {
        for (;;) {
          yield { progress: 0 }
          await sleep(10)
        }
      } finally {
        note('closed: finally')
      }
    },
  }) as Tool
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 55)
  const agent = agentOf(here, [respond(call('aborted'), call('closed'))], { tools: [aborted, closed] })
  await played(agent.run('Go', { signal: controller.signal }))
  expect(outline(here)).toEqual([
    'invoke_agent',
    '  chat scripted-1',
    '  execute_tool aborted',
    '    aborted: finally',
    '  execute_tool closed',
    '    closed: finally',
  ])
})

test('hooks and wraps: before next, after it, after each event, and in finally', async () => {
  const here = observed()
  const note = noting(here)
  const nosy: Middleware = {
    name: 'nosy',
    beforeAgent: () => note('beforeAgent'),
    async beforeModel() {
      await sleep(1)
      note('beforeModel')
    },
    afterModel: () => note('afterModel'),
    beforeFinalAnswer: () => note('beforeFinalAnswer'),
    async *wrapAgent(setup, next) {
      note('before the steps')
      try {
        return yield* next(setup)
      } finally {
        note('behind the steps')
      }
    },
    async *wrapModel(request, next) {
      note('before the model')
      try {
        const flow = next(request)
        for (;;) {
          const { done, value } = await flow.next()
          if (done) return value
          note('between events')
          yield value
        }
      } finally {
        note('behind the model')
      }
    },
    async *wrapToolCall(call, next) {
      note('before the tool')
      try {
        return yield* next(call)
      } finally {
        note('behind the tool')
      }
    },
  }
  const look = tool({ name: 'look', description: 'l', input, execute: () => note('look') }) as Tool
  const scripted = scriptedModel([respond(call('look')), done])
  const model: Model = {
    ...scripted,
    stream(request) {
      note('the model')
      return scripted.stream(request)
    },
  }
  const agent = agentOf(here, [], { model, tools: [look], middleware: [nosy] })
  await played(agent.run('Go'))
  expect(parents(here)).toEqual({
    beforeAgent: ['middleware nosy beforeAgent'],
    beforeModel: ['middleware nosy beforeModel'],
    afterModel: ['middleware nosy afterModel'],
    beforeFinalAnswer: ['middleware nosy beforeFinalAnswer'],
    'before the steps': ['middleware nosy wrapAgent'],
    'behind the steps': ['middleware nosy wrapAgent'],
    'before the model': ['middleware nosy wrapModel'],
    'between events': ['middleware nosy wrapModel'],
    'behind the model': ['middleware nosy wrapModel'],
    'before the tool': ['middleware nosy wrapToolCall'],
    'behind the tool': ['middleware nosy wrapToolCall'],
    look: ['execute_tool look'],
    'the model': ['chat scripted-1'],
    'chat scripted-1': ['middleware nosy wrapModel'],
    'execute_tool look': ['middleware nosy wrapToolCall'],
    'middleware nosy beforeAgent': ['invoke_agent'],
    'middleware nosy wrapAgent': ['invoke_agent'],
    'middleware nosy beforeModel': ['middleware nosy wrapAgent'],
    'middleware nosy afterModel': ['middleware nosy wrapAgent'],
    'middleware nosy wrapModel': ['middleware nosy wrapAgent'],
    'middleware nosy wrapToolCall': ['middleware nosy wrapAgent'],
    'middleware nosy beforeFinalAnswer': ['middleware nosy wrapAgent'],
    invoke_agent: [undefined],
  })
})

test('spans outside of hooks, models and tools are children of the run’s span; those for a call, of the call’s', async () => {
  const here = observed()
  const note = noting(here)
  const store = memoryStore()
  const { save } = store
  store.save = (...saved) => {
    note('save')
    return save.apply(store, saved)
  }
  const move = tool({
    name: 'move',
    description: 'm',
    input,
    effect: 'reversible',
    execute: () => 'moved',
    async compensate() {
      await sleep(1)
      note('compensate')
    },
  }) as Tool
  const agent = agentOf(here, [respond(call('move'), wait(10), say('.')), done], {
    tools: [move],
    middleware: [withdrawing(), early],
    checkpoints: store,
    prepareInput(input) {
      note('prepareInput')
      return input
    },
  })
  await played(agent.run('Go'))
  const { save: saves, prepareInput, compensate } = parents(here)
  expect({ saves, prepareInput }).toEqual({ saves: ['invoke_agent'], prepareInput: ['invoke_agent'] })
  expect(compensate).toEqual(['execute_tool move'])
})

test('a run’s checkpoint is loaded, and its output checked, in its span', async () => {
  const here = observed()
  const note = noting(here)
  const store = memoryStore()
  const { load } = store
  store.load = (id) => {
    note('load')
    return load.call(store, id)
  }
  const asks: Middleware = {
    name: 'asks',
    afterModel(_, run) {
      if (run.answers.length === 0) throw interrupt()
    },
  }
  const output = z.object({ n: z.number() }).refine(() => {
    note('output')
    return true
  })
  const agent = agentOf(here, [respond(say('{"n":1}'))], { middleware: [asks], checkpoints: store, output })
  let id = ''
  let answers = {}
  await played(
    agent.run('Go').then(({ checkpoint, interrupts = [] }) => {
      id = checkpoint?.runId ?? ''
      answers = Object.fromEntries(interrupts.map((one) => [one.id, 'yes']))
    }),
  )
  await played(agent.resume(id, answers).result)
  expect(parents(here)).toMatchObject({ load: ['invoke_agent'], output: ['invoke_agent'] })
})

test('two parallel runs keep their own traces, as children of the span that was active when each was called', async () => {
  const here = observed()
  const note = noting(here)
  const tracer = here.telemetry.tracerProvider.getTracer('app')
  const slow = tool({
    name: 'slow',
    description: 's',
    input: z.object({ of: z.string() }),
    effect: 'read',
    async execute({ of }) {
      await sleep(20)
      note(`${of}: inside`)
    },
  }) as Tool
  const model = () =>
    scriptedModel([
      ({ messages: [asked] }) => respond(call('slow', { of: asked && textOf(asked) }), wait(10), say('.')),
      done,
    ])
  const request = (name: string) =>
    tracer.startActiveSpan(name, async (span) => {
      await agentOf(here, [], { model: model(), tools: [slow], middleware: [early] }).run(name)
      span.end()
    })
  await played(Promise.all([request('first'), request('second')]))
  const one = (name: string) => [
    name,
    '  invoke_agent',
    '    middleware early wrapModel',
    '      chat scripted-1',
    '    execute_tool slow',
    `      ${name}: inside`,
    '    middleware early wrapModel',
    '      chat scripted-1',
  ]
  expect(outline(here)).toEqual([...one('first'), ...one('second')])
  const traces = new Set(here.spans().map((span) => span.spanContext().traceId))
  expect(traces.size).toBe(2)
})

test('an agent as a tool: its run is a child of the call, and its tools’ spans are its children', async () => {
  const here = observed()
  const note = noting(here)
  const look = tool({ name: 'look', description: 'l', input, effect: 'read', execute: () => note('inside') }) as Tool
  const expert = agentOf(here, [respond(call('look'), wait(10), say('.')), respond(say('42'))], {
    name: 'expert',
    description: 'Knows.',
    tools: [look],
    middleware: [early],
  })
  const agent = agentOf(here, [respond(call('expert', { request: 'What?' }), wait(10), say('.')), done], {
    tools: [agentTool(expert) as Tool],
    middleware: [early],
  })
  await played(agent.run('Go'))
  expect(outline(here)).toEqual([
    'invoke_agent',
    '  middleware early wrapModel',
    '    chat scripted-1',
    '  execute_tool expert',
    '    invoke_agent expert',
    '      middleware early wrapModel',
    '        chat scripted-1',
    '      execute_tool look',
    '        inside',
    '      middleware early wrapModel',
    '        chat scripted-1',
    '  middleware early wrapModel',
    '    chat scripted-1',
  ])
})

test('a call that a tool makes is a child of the tool’s own span', async () => {
  const here = observed()
  const note = noting(here)
  const inner = tool({ name: 'inner', description: 'i', input, effect: 'read', execute: () => note('inside') }) as Tool
  const outer = tool({
    name: 'outer',
    description: 'o',
    input,
    effect: 'read',
    async execute(_, { run }) {
      await run?.callTool({ type: 'tool-call', id: 'side', name: 'inner', input: {} })
      note('behind it')
    },
  }) as Tool
  await played(agentOf(here, [respond(call('outer')), done], { tools: [outer, inner] }).run('Go'))
  expect(outline(here)).toEqual([
    'invoke_agent',
    '  chat scripted-1',
    '  execute_tool outer',
    '    execute_tool inner',
    '      inside',
    '    behind it',
    '  chat scripted-1',
  ])
})

test('the reader keeps its own context: in its loop, between its loops, and when it leaves', async () => {
  const here = observed()
  const note = noting(here)
  const tracer = here.telemetry.tracerProvider.getTracer('app')
  const chatty = tool({
    name: 'chatty',
    description: 'c',
    input,
    effect: 'read',
    async *execute() {
      for (const progress of [0.1, 0.2, 0.3]) {
        await sleep(10)
        yield { progress }
      }
    },
  }) as Tool
  const active: (Span | undefined)[] = []
  let outer: Span | undefined
  const read = tracer.startActiveSpan('request', async (span) => {
    outer = span
    const run = agentOf(here, [respond(call('chatty'), wait(15), say('.')), done], {
      tools: [chatty],
      middleware: [early],
    }).stream('Go')
    for await (const event of run) {
      active.push(trace.getActiveSpan())
      if (event.type === 'tool-progress') note('read')
      if (event.type === 'tool-end') break
    }
    active.push(trace.getActiveSpan())
    await run.result.catch(() => undefined)
    active.push(trace.getActiveSpan())
    span.end()
  })
  await played(read)
  expect(active.length).toBeGreaterThan(10)
  expect(new Set(active)).toEqual(new Set([outer]))
  expect(outline(here).filter((line) => !line.startsWith('    '))).toEqual([
    'request',
    '  invoke_agent',
    '  read',
    '  read',
    '  read',
  ])
})

test('the measurements of a run, a model attempt and an execution are recorded while its span is active, as exemplars require', async () => {
  const { telemetry, spans } = observed()
  const names = new Map<string, string>()
  const recorded: [metric: string, span: string | undefined][] = []
  const record = (metric: string) => void recorded.push([metric, trace.getActiveSpan()?.spanContext().spanId])
  const meterProvider: MeterProvider = {
    getMeter: () => ({
      ...createNoopMeter(),
      createHistogram: (metric) => ({ record: () => record(metric) }),
      createCounter: (metric) => ({ add: () => record(metric) }),
    }),
  }
  const look = tool({ name: 'look', description: 'l', input, effect: 'read', execute: () => 'sun' }) as Tool
  const model = scriptedModel([respond(call('look')), done])
  await played(createAgent({ model, tools: [look], telemetry: { ...telemetry, meterProvider } }).run('Go'))
  for (const span of spans()) names.set(span.spanContext().spanId, span.name)
  const durations = recorded.filter(([metric]) => metric.endsWith('.duration'))
  expect(durations.map(([metric, span]) => [metric, names.get(span ?? '')])).toEqual([
    ['gen_ai.client.inference.duration', 'chat scripted-1'],
    ['gen_ai.execute_tool.duration', 'execute_tool look'],
    ['gen_ai.client.inference.duration', 'chat scripted-1'],
    ['gen_ai.invoke_agent.duration', 'invoke_agent'],
  ])
})
