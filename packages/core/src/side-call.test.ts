import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { createAgent, type Middleware, textOf } from './index.ts'
import { call, collect, end, fail, respond, say, scriptedModel } from './testing.ts'

const usage = { inputTokens: 5, outputTokens: 1 }

test('a model call on the side has a span and counts in usage; it is no step and shows no events (N29)', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const model = scriptedModel([
    respond(say('In short.'), call('ghost'), end({ usage, finishReason: 'stop' })),
    respond(say('Hello.'), end({ usage })),
  ])
  const texts: string[] = []
  const asking: Middleware = {
    name: 'asking',
    async beforeModel(_, run) {
      const { content } = await run.callModel({ messages: [{ role: 'user', content: 'Sum it up.' }] })
      texts.push(JSON.stringify(content[0]))
    },
  }
  const agent = createAgent({ model, instructions: 'Be kind.', middleware: [asking], telemetry: { tracerProvider } })
  const { events, result } = await collect(agent.stream('Hi'))
  expect(texts).toEqual(['{"type":"text","text":"In short."}'])
  expect(model.requests[0]).toMatchObject({ instructions: '', tools: [], toolChoice: 'none' })
  expect(result).toMatchObject({ text: 'Hello.', steps: 1, usage: { inputTokens: 10, outputTokens: 2 } })
  expect(result?.messages).toHaveLength(2)
  expect(events.filter(({ type }) => type === 'attempt-start')).toHaveLength(1)
  expect(events.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : [])).join('')).toBe('Hello.')
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual([
    'chat scripted-1',
    'middleware asking beforeModel',
    'chat scripted-1',
    'invoke_agent',
  ])
})

test('a model call on the side that fails throws to who asked, and the run goes on if that catches it (N28, N29)', async () => {
  const model = scriptedModel([respond(fail({ status: 500 })), respond(say('Hello.'))])
  let thrown: unknown
  const asking: Middleware = {
    name: 'asking',
    async beforeModel(_, run) {
      await run.callModel({ messages: [{ role: 'user', content: '?' }] }).catch((error: unknown) => {
        thrown = error
      })
    },
  }
  const { result } = await collect(createAgent({ model, middleware: [asking] }).stream('Hi'))
  expect(thrown).toMatchObject({ name: 'ModelError', status: 500 })
  expect(result?.text).toBe('Hello.')
})

test('round a model call on the side stand the wraps that say so, and no others (N29)', async () => {
  const wrapping = (name: string, aroundSideCalls?: boolean): Middleware => ({
    name,
    ...(aroundSideCalls !== undefined && { aroundSideCalls }),
    async *wrapModel(request, next) {
      const message = yield* next({ ...request, instructions: `${request.instructions}<${name}>` })
      return { ...message, content: [...message.content, { type: 'text', text: `<${name}>` }] }
    },
  })
  const model = scriptedModel([respond(say('Aside.')), respond(say('Hello.'))])
  let aside = ''
  const asking: Middleware = {
    name: 'asking',
    async beforeModel(_, run) {
      aside = textOf(await run.callModel({ messages: [{ role: 'user', content: '?' }] }))
    },
  }
  const middleware = [wrapping('outer', true), asking, wrapping('never'), wrapping('inner', true)]
  const { events, result } = await collect(createAgent({ model, middleware }).stream('Hi'))
  expect(model.requests.map(({ instructions }) => instructions)).toEqual(['<outer><inner>', '<outer><never><inner>'])
  expect([aside, result?.text]).toEqual(['Aside.<inner><outer>', 'Hello.<inner><never><outer>'])
  expect(events.filter(({ type }) => type === 'attempt-start')).toHaveLength(1)
})
