import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { observed } from '../../test/observed.ts'
import { agentTool, contextOf, createAgent, type Middleware, type Run, type Tool, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

const tenant = contextOf(z.object({ tenant: z.string() }))
const look = tool({ name: 'look', description: 'l', input: z.object({}), execute: () => 'seen' }) as Tool
const hook: Middleware = { name: 'hook', beforeModel: () => undefined }
const looks = () => scriptedModel([respond(call('look')), respond(say('Done.'))])

/** The tenants on the spans, by the first word of their names. */
function tenantsIn(spans: ReturnType<ReturnType<typeof observed>['spans']>) {
  const tenants: Record<string, unknown[]> = {}
  for (const { name, attributes } of spans) (tenants[name.split(' ')[0] ?? ''] ??= []).push(attributes.tenant)
  return tenants
}

test('attributes may be a function of the run: what it returns is on the spans of the run and its calls, separately for each run', async () => {
  const { telemetry, spans, reset } = observed()
  const attributes = vi.fn<(run: Run) => { tenant: string }>((run) => ({ tenant: tenant(run).tenant }))
  const of = () =>
    createAgent({ model: looks(), tools: [look], middleware: [hook], telemetry: { ...telemetry, attributes } })
  for (const name of ['acme', 'beta']) {
    reset()
    await settled(of().run('Go', { context: { tenant: name } }))
    expect(tenantsIn(spans())).toEqual({
      middleware: [undefined, undefined],
      chat: [name, name],
      execute_tool: [name],
      invoke_agent: [name],
    })
  }
  expect(attributes).toHaveBeenCalledTimes(2)
})

test('the first event of a response, the effect of a call and the end of its function are on spans that are still open (DT4)', async () => {
  const open = new Map<string, { readonly attributes: object }>()
  const nothing = () => Promise.resolve()
  const noted: SpanProcessor = {
    onStart: (span) => void open.set(span.name, span),
    onEnd: ({ name }) => void open.delete(name),
    forceFlush: nothing,
    shutdown: nothing,
  }
  const tracerProvider = new TracerProvider({ spanProcessors: [noted] })
  const attributesOf = (name: string) => open.get(name)?.attributes
  const slow = tool({
    name: 'slow',
    description: 's',
    input: z.object({}),
    effect: 'read',
    execute: () => new Promise((resolve) => setTimeout(resolve, 40, 'seen')),
  }) as Tool
  const keeps: Middleware = {
    name: 'keeps',
    async *wrapToolCall(given, next) {
      const message = yield* next(given)
      await new Promise((resolve) => setTimeout(resolve, 500))
      return message
    },
  }
  const model = scriptedModel([respond(wait(100), say('Hm.'), wait(100), call('slow')), respond(say('Done.'))])
  const run = createAgent({ model, tools: [slow], middleware: [keeps], telemetry: { tracerProvider } }).run('Go')
  await vi.advanceTimersByTimeAsync(150)
  expect(attributesOf('chat scripted-1')).toMatchObject({ 'gen_ai.response.time_to_first_chunk': 0.1 })
  await vi.advanceTimersByTimeAsync(70)
  expect(attributesOf('execute_tool slow')).toMatchObject({ 'meanwhile.tool.effect': 'read' })
  expect(attributesOf('execute_tool slow')).not.toHaveProperty('meanwhile.tool.duration')
  await vi.advanceTimersByTimeAsync(100)
  expect(attributesOf('execute_tool slow')).toMatchObject({ 'meanwhile.tool.duration': 0.04 })
  expect(attributesOf('execute_tool slow')).not.toHaveProperty('meanwhile.outcome')
  await settled(run)
})

test('attributes that are not a function are only on the span of the run', async () => {
  const { telemetry, spans } = observed()
  await settled(
    createAgent({ model: looks(), tools: [look], telemetry: { ...telemetry, attributes: { tenant: 'acme' } } }).run(
      'Go',
    ),
  )
  expect(tenantsIn(spans())).toEqual({
    chat: [undefined, undefined],
    execute_tool: [undefined],
    invoke_agent: ['acme'],
  })
})

test('a function that throws does not affect the run, which has no attributes then; without an SDK it is not called', async () => {
  const { telemetry, spans } = observed()
  const attributes = vi.fn<(run: Run) => { tenant: string }>((run) => ({ tenant: tenant(run).tenant }))
  const { text } = await settled(
    createAgent({ model: looks(), tools: [look], telemetry: { ...telemetry, attributes } }).run('Go'),
  )
  expect(text).toBe('Done.')
  expect(tenantsIn(spans())).toEqual({
    chat: [undefined, undefined],
    execute_tool: [undefined],
    invoke_agent: [undefined],
  })
  expect(spans().at(-1)?.attributes).toHaveProperty('meanwhile.run.id')
  const silent = vi.fn<() => { tenant: string }>(() => ({ tenant: 'acme' }))
  await settled(createAgent({ model: looks(), tools: [look], telemetry: { attributes: silent } }).run('Go'))
  expect(silent).not.toHaveBeenCalled()
})

test('an inner agent calls its own function, with its own context', async () => {
  const { telemetry, spans } = observed()
  const own = { ...telemetry, attributes: (run: Run) => ({ tenant: tenant(run).tenant }) }
  const expert = createAgent({ name: 'expert', description: 'e', model: looks(), tools: [look], telemetry: own })
  const asks = scriptedModel([respond(call('expert', { request: 'Who?' })), respond(say('Done.'))])
  const boss = createAgent({
    name: 'boss',
    model: asks,
    tools: [agentTool(expert, { context: () => ({ tenant: 'beta' }) })],
    telemetry: own,
  })
  await settled(boss.run('Go', { context: { tenant: 'acme' } }))
  const byName = Object.fromEntries(spans().map(({ name, attributes }) => [name, attributes.tenant]))
  expect(byName).toMatchObject({
    'invoke_agent boss': 'acme',
    'execute_tool expert': 'acme',
    'invoke_agent expert': 'beta',
    'execute_tool look': 'beta',
  })
})

test('attributes that are neither an object nor a function are a ConfigError (A2)', () => {
  expect(() => createAgent({ model: looks(), telemetry: { attributes: 'acme' as never } })).toThrow(
    'telemetry.attributes: must be an object',
  )
})
