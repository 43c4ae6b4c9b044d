import { call, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Model, type NeedsContext, type Tool } from '@meanwhile/core'
import { type SpanNode, spanTree } from '@meanwhile/harness/otlp'
import { played } from '@meanwhile/tests/clock'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { retrying } from '../test/retrying.ts'
import { sayDone, tellingModel } from '../test/telling-model.ts'
import { workshop } from '../test/workshop.ts'
import { eagerTools, type Policy } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

const done = respond(say('Done.'))

interface SpansOptions {
  /** In place of the responses. */
  readonly model?: Model
  readonly middleware?: readonly Middleware[]
  readonly tools?: readonly Tool[]
  readonly toolConcurrency?: number
  readonly maxSteps?: number
}

/** The spans of a run of these responses. */
async function spansOf(responses: readonly ScriptResponse[], options: SpansOptions = {}) {
  exporter.reset()
  const { tools } = workshop()
  const agent = createAgent({
    model: scriptedModel(responses),
    telemetry: { tracerProvider },
    ...options,
    tools: [...tools, ...(options.tools ?? [])],
    middleware: options.middleware ?? [eagerTools()],
  })
  await played(agent.run('Go').catch(() => undefined))
  const spans = exporter.getFinishedSpans()
  const named = (name: string) => spans.filter((span) => span.name === name)
  const tool = (name: string) => {
    const [span] = named(`execute_tool ${name}`)
    if (!span) throw new Error(`no span of ${name}`)
    return span
  }
  return { spans, named, tool }
}

/** The dispatch attributes of a span. */
function dispatch({ attributes }: ReadableSpan): Record<string, unknown> {
  const told = [
    'dispatch.mode',
    'dispatch.evidence',
    'dispatch.deferral_reason',
    'tool.effect',
    'head_start',
    'overlap',
    'outcome',
  ]
  const entries = told.map((name) => [name, attributes[`meanwhile.${name}`]] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

test('an early span has dispatch mode, evidence, effect, head start and outcome, and a link to its chat span (H28)', async () => {
  const { tool, named } = await spansOf([
    respond(
      wait(100),
      call('look', { n: 1, ms: 50 }, { deltas: 1 }),
      wait(100),
      call('put', { n: 2, ms: 500 }, { deltas: 1 }),
      wait(100),
      say('So.'),
    ),
    done,
  ])
  expect(dispatch(tool('look'))).toEqual({
    'dispatch.mode': 'early',
    'dispatch.evidence': 'closed',
    'tool.effect': 'read',
    head_start: 0.2,
    overlap: 0.05,
    outcome: 'committed',
  })
  expect(dispatch(tool('put'))).toEqual({
    'dispatch.mode': 'early',
    'dispatch.evidence': 'sealed',
    'tool.effect': 'idempotent',
    head_start: 0.1,
    overlap: 0.1,
    outcome: 'committed',
  })
  const [chat] = named('chat scripted-1')
  for (const name of ['look', 'put']) {
    expect(tool(name).links.map(({ context }) => context.spanId)).toEqual([chat?.spanContext().spanId])
  }
  expect(chat?.attributes['meanwhile.tool_calls.early']).toBe(2)
})

test('the span of a call that starts with the members its tool needs shows this, and that the call was discarded (H28, H31, H32)', async () => {
  const open = workshop().make('open', 'read', {
    needs: ['n'],
    execute: async (_, context) => {
      const { rest } = context as NeedsContext<unknown>
      await rest
      return 'open'
    },
  })
  const deltas = ['{"n":1,', '"ms":2', '}']
  const valid = call('open', '{"n":1,"ms":2}', { deltas })
  const { tool } = await spansOf([respond(valid, wait(100), say('So.')), done], { tools: [open] })
  expect(dispatch(tool('open'))).toEqual({
    'dispatch.mode': 'early',
    'dispatch.evidence': 'prefix',
    'tool.effect': 'read',
    head_start: 0.1,
    overlap: 0,
    outcome: 'committed',
  })
  const invalid = call('open', '{"n":1,"ms":"2"}', { deltas: ['{"n":1,', '"ms":"2"', '}'] })
  const { named } = await spansOf([respond(invalid, wait(100), say('So.')), done], { tools: [open] })
  const [discarded, made] = named('execute_tool open')
  expect(discarded?.attributes).toMatchObject({
    'meanwhile.dispatch.evidence': 'prefix',
    'meanwhile.outcome': 'discarded',
    'meanwhile.discard.reason': 'arguments_changed',
  })
  expect(made?.attributes).toMatchObject({ 'meanwhile.dispatch.mode': 'after_model', 'meanwhile.outcome': 'failed' })
})

test('the lag is measured from the evidence to the function, and includes the wait for a slot separately (H28)', async () => {
  const { named } = await spansOf(
    [
      respond(
        call('look', { n: 1, ms: 80 }, { deltas: 1 }),
        call('look', { n: 2, ms: 80 }, { deltas: 1 }),
        wait(200),
        say('So.'),
      ),
      done,
    ],
    { toolConcurrency: 1 },
  )
  const lags = named('execute_tool look').map(({ attributes }) => [
    attributes['meanwhile.dispatch.lag'],
    attributes['meanwhile.dispatch.queued'],
    attributes['meanwhile.head_start'],
  ])
  expect(lags).toEqual([
    [0, 0, 0.2],
    [0.08, 0.08, 0.12],
  ])
})

test('spans show when arguments were complete, behind which call one waited, and how long one waited for its commit (DT4)', async () => {
  const { tool } = await spansOf([
    respond(
      wait(100),
      call('look', { n: 1, ms: 50 }, { id: 'first', deltas: 1 }),
      wait(100),
      call('move', { n: 2, ms: 500 }, { id: 'barrier', deltas: 1 }),
      call('send', { n: 3 }, { id: 'last', deltas: 1 }),
      wait(100),
      say('So.'),
    ),
    done,
  ])
  const told = (name: string) =>
    ['arguments.closed', 'commit.lag', 'tool.duration', 'dispatch.deferral_reason', 'dispatch.waited_for'].map(
      (one) => tool(name).attributes[`meanwhile.${one}`],
    )
  expect(told('look')).toEqual([0, 0.15, 0.05, undefined, undefined])
  expect(told('move')).toEqual([0, undefined, 0.5, undefined, undefined])
  expect(told('send')).toEqual([0.1, undefined, 0, 'conflict', 'barrier'])
})

test('a call that ended and is then discarded shows how long it waited for that (DT4)', async () => {
  const { named } = await spansOf(
    [
      respond(call('look', { n: 1, ms: 50 }, { deltas: 1 }), wait(200), fail()),
      respond(wait(100), call('look', { n: 2, ms: 50 }, { deltas: 1 })),
      done,
    ],
    { middleware: [retrying(), eagerTools()] },
  )
  const told = named('execute_tool look').map(({ attributes }) => [
    attributes['meanwhile.outcome'],
    attributes['meanwhile.tool.duration'],
    attributes['meanwhile.commit.lag'],
  ])
  expect(told).toEqual([
    ['discarded', 0.05, 0.25],
    ['committed', 0.05, undefined],
  ])
})

test('a call with a part of its input shows when the rest came, however late its function awaits it, and nothing of a rest that did not come (DT4)', async () => {
  const timesOf = async (awaitsAfter: number, lasts: number) => {
    const open = workshop().make('open', 'read', {
      needs: ['n'],
      execute: async (_, context) => {
        const { rest } = context as NeedsContext<unknown>
        await new Promise((resolve) => setTimeout(resolve, awaitsAfter))
        if (lasts > awaitsAfter) await new Promise((resolve) => setTimeout(resolve, lasts - awaitsAfter))
        else await rest
        return 'open'
      },
    })
    const model = tellingModel([
      [
        [0, (to) => to.call(0, { id: 'c', name: 'open', delta: '{"n":1,' })],
        [200, (to) => to.call(0, { delta: '"ms":2}' })],
        [400, (to) => to.finish('tool-calls')],
      ],
      sayDone,
    ])
    const { named } = await spansOf([], { model, tools: [open] })
    const attributes = named('execute_tool open')[0]?.attributes
    return [attributes?.['meanwhile.arguments.closed'], attributes?.['meanwhile.rest.waited']]
  }
  expect(await timesOf(50, 0)).toEqual([-0.2, 0.15])
  expect(await timesOf(300, 0)).toEqual([-0.2, undefined])
  expect(await timesOf(50, 100)).toEqual([undefined, undefined])
})

test('with one slot a call shows behind which one it waited (DT4)', async () => {
  const { named } = await spansOf(
    [
      respond(
        call('send', { n: 1 }, { id: 'a', deltas: 1 }),
        call('look', { n: 2 }, { id: 'b', deltas: 1 }),
        call('look', { n: 3 }, { id: 'c', deltas: 1 }),
        say('So.'),
      ),
      done,
    ],
    { toolConcurrency: 1 },
  )
  const waits = named('execute_tool look').map(({ attributes }) => [
    attributes['meanwhile.dispatch.deferral_reason'],
    attributes['meanwhile.dispatch.waited_for'],
  ])
  expect(waits).toEqual([
    ['order', 'a'],
    ['order', 'a'],
  ])
  expect(named('invoke_agent')[0]?.attributes['meanwhile.tool_concurrency']).toBe(1)
})

test('a call that waited for another, and then got an invalid input, no longer shows that it waited for it (DT4)', async () => {
  const model = tellingModel([
    [
      [0, (to) => to.call(0, { id: 'first', name: 'send', delta: '{"n":1}' })],
      [0, (to) => to.call(1, { id: 'second', name: 'look', delta: '{"n":2}' })],
      [100, (to) => to.seal(1, '{"n":"two"}')],
      [200, (to) => to.finish('tool-calls')],
    ],
    sayDone,
  ])
  const { tool } = await spansOf([], { model })
  const { attributes } = tool('look')
  expect(attributes).toMatchObject({ 'meanwhile.dispatch.deferral_reason': 'invalid' })
  expect(attributes).not.toHaveProperty(['meanwhile.dispatch.waited_for'])
})

test('a computed effect is on the call’s span (H28, H4)', async () => {
  const mixed = workshop().make('mixed', undefined, { effect: ({ n }) => (n === 1 ? 'read' : 'idempotent') })
  const { named } = await spansOf(
    [
      respond(call('mixed', { n: 1 }, { deltas: 1 }), call('mixed', { n: 2 }, { deltas: 1 }), wait(100), say('So.')),
      done,
    ],
    { tools: [mixed] },
  )
  expect(named('execute_tool mixed').map(({ attributes }) => attributes['meanwhile.tool.effect'])).toEqual([
    'read',
    'idempotent',
  ])
})

test('a span has the same parent as without eager tools: the run, or the innermost wrap of its call (H28)', async () => {
  const pass: Middleware = { name: 'pass', wrapToolCall: (call, next) => next(call) }
  const script = [respond(call('look', { n: 1, ms: 200 }, { deltas: 1 }), wait(100), say('So.')), done]
  // Everything inside the run's wrap is inside the run.
  const unwrapped = (node: SpanNode): SpanNode[] =>
    node.name === 'middleware eager-tools wrapAgent' ? (node.children ?? []).flatMap(unwrapped) : [node]
  const toolsOf = (spans: readonly ReadableSpan[]) =>
    spanTree(spans)[0]
      ?.children?.flatMap(unwrapped)
      .filter(({ name }) => !name.includes('eager-tools') && !name.startsWith('chat'))

  const bare = toolsOf((await spansOf(script)).spans)
  expect(bare).toEqual([{ name: 'execute_tool look' }])
  expect(bare).toEqual(toolsOf((await spansOf(script, { middleware: [] })).spans))

  const wrapped = toolsOf((await spansOf(script, { middleware: [pass, eagerTools()] })).spans)
  expect(wrapped).toEqual([{ name: 'middleware pass wrapToolCall', children: [{ name: 'execute_tool look' }] }])
  expect(wrapped).toEqual(toolsOf((await spansOf(script, { middleware: [pass] })).spans))
})

test('the span of a call that is not early states the reason (H28)', async () => {
  const policy: Policy = (_, { tool }) => (tool.name === 'kept' ? 'wait' : undefined)
  const { make } = workshop()
  const { tool, named } = await spansOf(
    [
      respond(
        call('kept', { n: 1 }, { deltas: 1 }),
        call('look', { n: 'one' }, { deltas: 1 }),
        call('nobody', { n: 1 }, { deltas: 1 }),
        wait(100),
        say('So.'),
      ),
      respond(call('send', { n: 1 }, { deltas: 1 }), call('put', { n: 1 }, { deltas: 1 }), wait(100), say('So.')),
      done,
    ],
    { tools: [make('kept', 'read')], middleware: [eagerTools({ policy })] },
  )
  const late = { 'dispatch.mode': 'after_model', 'dispatch.evidence': 'model_stood' }
  expect(dispatch(tool('kept'))).toMatchObject({ ...late, 'dispatch.deferral_reason': 'policy' })
  expect(dispatch(tool('look'))).toMatchObject({ ...late, 'dispatch.deferral_reason': 'invalid' })
  expect(named('execute_tool').map(dispatch)).toMatchObject([{ ...late, 'dispatch.deferral_reason': 'invalid' }])
  expect(dispatch(tool('send'))).toMatchObject({ ...late, 'dispatch.deferral_reason': 'effect' })
  expect(dispatch(tool('put'))).toMatchObject({ ...late, 'dispatch.deferral_reason': 'conflict' })
})

test('the span of a call that is held back by one slot, or by the last step, states the reason (H28, H5, H12)', async () => {
  const oneSlot = await spansOf(
    [
      respond(call('send', { n: 1 }, { deltas: 1 }), call('look', { n: 1 }, { deltas: 1 }), wait(100), say('So.')),
      done,
    ],
    { toolConcurrency: 1, middleware: [eagerTools({ independent: ['send'] })] },
  )
  expect(dispatch(oneSlot.tool('look'))).toMatchObject({ 'dispatch.deferral_reason': 'order' })

  const direct = workshop().make('direct', 'read', { returnDirect: true })
  const lastStep = await spansOf([respond(call('direct', { n: 1 }, { deltas: 1 }), wait(100), say('So.'))], {
    tools: [direct],
    maxSteps: 1,
  })
  expect(dispatch(lastStep.tool('direct'))).toMatchObject({ 'dispatch.deferral_reason': 'last_step' })
})

test('background work begins when its model call has succeeded, and its span states the reason (H5, H28)', async () => {
  const build = workshop().make('build', 'read', { background: true })
  const { tool } = await spansOf(
    [respond(call('build', { n: 1 }, { deltas: 1 }), wait(100), say('So.')), done, done, done],
    { tools: [build] },
  )
  expect(dispatch(tool('build'))).toMatchObject({
    'dispatch.mode': 'after_model',
    'dispatch.deferral_reason': 'background',
  })
})

test('a call that a further attempt joins has a link to each attempt that requested it, and shows how it ended (O4, H28)', async () => {
  const { tool, named } = await spansOf(
    [
      respond(
        call('look', { n: 1, ms: 150 }, { deltas: 1 }),
        call('put', { n: 2, ms: 5_000 }, { deltas: 1 }),
        wait(100),
        fail(),
      ),
      respond(wait(100), call('look', { n: 1, ms: 150 }, { deltas: 1 }), wait(100), say('So.')),
      done,
    ],
    { middleware: [retrying(), eagerTools()] },
  )
  const [first, second] = named('chat scripted-1').map((span) => span.spanContext().spanId)
  expect(named('execute_tool look')).toHaveLength(1)
  expect(tool('look').links.map(({ context }) => context.spanId)).toEqual([first, second])
  expect(dispatch(tool('look'))).toMatchObject({ 'dispatch.mode': 'early', head_start: 0.3, outcome: 'committed' })
  expect(tool('put').links.map(({ context }) => context.spanId)).toEqual([first])
  expect(tool('put').attributes).toMatchObject({
    'meanwhile.outcome': 'discarded',
    'meanwhile.discard.reason': 'call_withdrawn',
  })
  expect(tool('put').status.code).toBe(0)
})
