import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  type AgentError,
  type AgentOptions,
  createAgent,
  type Middleware,
  type Model,
  type Tool,
  tool,
} from '../index.ts'

unhandledRejections()

const no = () => {
  throw new Error('no')
}
const cyclic = { self: {} }
cyclic.self = cyclic

const thrown = {
  'an Error': new Error('no'),
  'an Error without text': new Error(),
  'an Error whose message throws': Object.defineProperty(new Error(), 'message', { get: no }),
  'an Error whose name throws': Object.defineProperty(new Error('no'), 'name', { get: no }),
  'an Error whose stack throws': Object.defineProperty(new Error('no'), 'stack', { get: no }),
  'an Error whose name and stack are no texts': Object.assign(new Error('no'), { name: Symbol('name'), stack: 7 }),
  'a frozen Error': Object.freeze(new Error('no')),
  'an object that has no text': { toString: no, toJSON: no, valueOf: no },
  'an object without prototype': Object.create(null) as object,
  'an object in a circle': cyclic,
  'a text': 'no',
  'an empty text': '',
  'a number': Number.NaN,
  null: null,
  undefined,
  'a symbol': Symbol('no'),
  'a function': no,
} satisfies Record<string, unknown>

const fail = (value: unknown) => (): never => {
  throw value
}

const plain = tool({ name: 'plain', description: 'Works.', input: z.object({}), execute: () => 'done' })

/** Failures that concern only one call: the model reads an error result. */
const ofOneCall: Readonly<Record<string, (fail: () => never) => { tool?: Tool; options?: Partial<AgentOptions> }>> = {
  'a tool': (fail) => ({ tool: { ...plain, execute: fail } }),
  'a tool, later': (fail) => ({ tool: { ...plain, execute: async () => fail() } }),
  'a streaming tool, at once': (fail) => ({
    tool: {
      ...plain,
      async *execute() {
        fail()
      },
    },
  }),
  'a streaming tool, between two yields': (fail) => ({
    tool: {
      ...plain,
      async *execute() {
        yield { progress: 0.5 }
        fail()
      },
    },
  }),
  toContent: (fail) => ({ tool: { ...plain, toContent: fail } }),
  'the toJSON of an output': (fail) => ({ tool: { ...plain, execute: () => ({ toJSON: fail }) } }),
  'a schema': (fail) => ({
    tool: { ...plain, input: { '~standard': { ...plain.input['~standard'], validate: fail } } },
  }),
  prepareInput: (fail) => ({ options: { prepareInput: fail } }),
  unknownTool: (fail) => ({ tool: { ...plain, name: 'other' }, options: { unknownTool: fail } }),
  wrapToolCall: (fail) => ({ options: { middleware: [{ name: 'hostile', wrapToolCall: fail }] } }),
  'wrapToolCall, after the tool': (fail) => ({
    options: {
      middleware: [
        {
          name: 'hostile',
          async *wrapToolCall(call, next) {
            yield* next(call)
            return fail()
          },
        },
      ],
    },
  }),
}

const throwers = Object.keys(ofOneCall).flatMap((place) => Object.keys(thrown).map((what) => [place, what] as const))

test.for(throwers)('%s that throws %s ends one call, not the run (A11, A13, M8, M10, M12)', async ([place, what]) => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const { tool = plain, options } = ofOneCall[place]?.(fail(thrown[what as keyof typeof thrown])) ?? {}
  const model = scriptedModel([respond(call('plain')), respond(say('done'))])
  const agent = createAgent({ model, tools: [tool], telemetry: { tracerProvider }, ...options })
  const { result, error } = await collect(agent.stream('Go'))
  expect(error).toBeUndefined()
  expect(result).toMatchObject({ status: 'completed', text: 'done' })
  const content = [{ type: 'text', text: expect.any(String) }]
  expect(result?.messages[2]).toEqual({ role: 'tool', callId: 'call_1_1', name: 'plain', content, isError: true })
  expect(exporter.getFinishedSpans().some(({ name }) => name === 'invoke_agent')).toBe(true)
})

const hostile = (hooks: Omit<Middleware, 'name'>) => ({ middleware: [{ name: 'hostile', ...hooks }] })

/** Failures that end a run: its error has what was thrown as its cause. */
const ofTheRun: Readonly<Record<string, (fail: () => never) => Partial<AgentOptions>>> = {
  beforeAgent: (fail) => hostile({ beforeAgent: fail }),
  beforeModel: (fail) => hostile({ beforeModel: async () => fail() }),
  afterModel: (fail) => hostile({ afterModel: fail }),
  beforeFinalAnswer: (fail) => hostile({ beforeFinalAnswer: async () => fail() }),
  wrapAgent: (fail) => hostile({ wrapAgent: fail }),
  wrapModel: (fail) => hostile({ wrapModel: fail }),
  'wrapModel, after the answer': (fail) =>
    hostile({
      async *wrapModel(request, next) {
        yield* next(request)
        return fail()
      },
    }),
  'a model': (fail) => ({ model: modelOf(fail) }),
  'a model, later': (fail) => ({
    model: modelOf(async function* () {
      yield { type: 'text-delta', delta: 'So' }
      return fail()
    }),
  }),
}

function modelOf(stream: Model['stream']): Model {
  return { provider: 'own', id: 'own-1', stream }
}

const enders = Object.keys(ofTheRun).flatMap((place) => Object.keys(thrown).map((what) => [place, what] as const))

test.for(enders)('%s that throws %s ends the run with our own error (A19, A24)', async ([place, what]) => {
  const value = thrown[what as keyof typeof thrown]
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const model = scriptedModel([respond(say('done'))])
  const agent = createAgent({ model, telemetry: { tracerProvider }, ...ofTheRun[place]?.(fail(value)) })
  const { error } = await collect(agent.stream('Go'))
  const name = place.startsWith('a model') ? 'ModelError' : 'MiddlewareError'
  expect(error).toMatchObject({ name, usage: {} })
  expect((error as AgentError).messages?.[0]).toEqual({ role: 'user', content: 'Go' })
  expect((error as AgentError).cause).toBe(value)
  const spans = exporter.getFinishedSpans()
  expect(spans.at(-1)).toMatchObject({ name: 'invoke_agent', attributes: { 'error.type': name } })
})
