import { call, collect, end, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { observed } from '../../test/observed.ts'
import { createAgent, interrupt, type Middleware, type ModelRequest, type Run, textOf, tool } from '../index.ts'

unhandledRejections()

const usage = { inputTokens: 5, outputTokens: 1 }

test('a side call to a model has a span and counts in usage; it is not a step and shows no events (N29)', async () => {
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

test('a failed side call throws to its caller, and the run goes on if the caller catches it (N28, N29)', async () => {
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

test('only the wraps with aroundSideCalls wrap a side call (N29)', async () => {
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

/** Makes a side call, and does not wait. */
const forgetful = (ask: (run: Run) => Promise<unknown>): Middleware => ({
  name: 'forgetful',
  beforeModel: (_, run) => void ask(run).catch(() => undefined),
})
const aside = { messages: [{ role: 'user', content: 'Sum it up.' }] } as const

test('a side call that nothing awaits is aborted with its run, and counts in it (N29)', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { telemetry, spans, points } = observed()
  const model = scriptedModel([respond(wait(5_000), say('In short.')), respond(wait(100), say('Hello.'))])
  let thrown: unknown
  const middleware = [forgetful((run) => run.callModel(aside).catch((error: unknown) => (thrown = error)))]
  const run = createAgent({ model, middleware, telemetry }).stream('Hi')
  await vi.advanceTimersByTimeAsync(200)
  expect((await run.result).text).toBe('Hello.')
  expect(thrown).toMatchObject({ name: 'AbortError' })
  const ends = () => spans().map(({ name, status, attributes: of }) => [name, of['meanwhile.outcome'], status.code])
  const expected = [
    ['middleware forgetful beforeModel', undefined, 0],
    ['chat scripted-1', 'completed', 0],
    ['chat scripted-1', 'cancelled', 0],
    ['invoke_agent', 'completed', 0],
  ]
  expect(ends()).toEqual(expected)
  const calls = (await points()).filter(({ name }) => name === 'gen_ai.invoke_agent.inference_calls')
  expect(calls.map(({ sum }) => sum)).toEqual([2])
  await vi.runAllTimersAsync()
  expect(ends()).toEqual(expected)
})

test('a run that stops also aborts its side calls', async () => {
  const { telemetry, spans } = observed()
  const model = scriptedModel([respond(wait(5_000), say('In short.')), respond(say('Hello.'))])
  const asking: Middleware = {
    name: 'asking',
    beforeFinalAnswer() {
      throw interrupt()
    },
  }
  const middleware = [forgetful((run) => run.callModel(aside)), asking]
  const result = await createAgent({ model, middleware, telemetry }).run('Hi')
  expect(result.status).toBe('interrupted')
  const chats = spans().filter(({ name }) => name.startsWith('chat'))
  expect(chats.map(({ attributes }) => attributes['meanwhile.outcome'])).toEqual(['completed', 'cancelled'])
})

test('a wrap of a side call that ignores its signal delays the run no longer than the grace time', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { telemetry, watch } = observed()
  const stubborn: Middleware = {
    name: 'stubborn',
    aroundSideCalls: true,
    async *wrapModel(request, next) {
      if (request.messages === aside.messages) await new Promise((resolve) => setTimeout(resolve, 60_000))
      return yield* next(request)
    },
  }
  const middleware = [stubborn, forgetful((run) => run.callModel(aside))]
  const model = scriptedModel([respond(say('Hello.')), respond(say('Late.'))])
  const began = Date.now()
  const run = createAgent({ model, middleware, grace: 300, telemetry }).stream('Hi')
  await vi.advanceTimersByTimeAsync(299)
  expect(() => watch.assertEndedOnce()).toThrow()
  await vi.advanceTimersByTimeAsync(1)
  expect((await run.result).text).toBe('Hello.')
  expect(Date.now() - began).toBe(300)
  watch.assertEndedOnce()
  await vi.runAllTimersAsync()
  watch.assertEndedOnce()
  expect(model.requests).toHaveLength(1)
})

test('a run that is over makes no side calls, but work that was handed over does (I17)', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const job = tool({
    name: 'job',
    description: 'j',
    input: z.object({}),
    background: { atEnd: 'detach' },
    async execute(_, { run }) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return run && textOf(await run.callModel(aside))
    },
  })
  const model = scriptedModel([respond(call('job', {})), respond(say('Hello.')), respond(say('In short.'))])
  let kept: Run | undefined
  const keeping: Middleware = { name: 'keeping', beforeAgent: (_, run) => void (kept = run) }
  const run = createAgent({ model, tools: [job], middleware: [keeping] }).stream('Hi')
  await vi.advanceTimersByTimeAsync(10)
  const { text, background = [] } = await run.result
  expect(text).toBe('Hello.')
  await expect(kept?.callModel(aside)).rejects.toMatchObject({ name: 'AbortError' })
  // Nothing need wait for a call that is refused.
  void kept?.callModel(aside)
  await vi.runAllTimersAsync()
  expect(await background[0]?.result).toMatchObject({ content: [{ type: 'text', text: 'In short.' }] })
})

test('the attempts of each side call are counted separately', async () => {
  const { telemetry, spans } = observed()
  const again: Middleware = { ...askAgain, aroundSideCalls: true }
  const asking: Middleware = {
    name: 'asking',
    async beforeModel(_, run) {
      await run.callModel(aside)
      await run.callModel(aside)
    },
  }
  const broken = respond(fail({ status: 500 }))
  const model = scriptedModel([broken, respond(say('One.')), broken, respond(say('Two.')), respond(say('Hello.'))])
  await createAgent({ model, middleware: [again, asking], telemetry }).run('Hi')
  const chats = spans().filter(({ name }) => name.startsWith('chat'))
  expect(chats.map(({ attributes }) => attributes['meanwhile.attempt'])).toEqual([1, 2, 1, 2, 1])
})

test.each([
  ['while the model responds', true],
  // On a busy machine the event loop may have to turn before the model is asked.
  ['whether or not the model was asked', false],
])(
  'a side call of a call that is cancelled %s rejects with the cancellation, and the run goes on (N29, I4)',
  async (_, isAsked) => {
    let modelIsAsked = () => {}
    const asked = new Promise<void>((resolve) => {
      modelIsAsked = resolve
    })
    const reply = ({ tools, messages }: ModelRequest) => {
      if (messages.at(-1)?.role === 'tool') return respond(say('Done.'))
      if (tools.length > 0) return respond(call('look', {}, { id: 'c' }))
      modelIsAsked()
      return respond(wait(60_000), say('Never read.'))
    }
    let thrown: unknown
    const look = tool({
      name: 'look',
      description: 'Asks a model',
      input: z.object({}),
      async execute(_, { run, callId }) {
        const answer = run?.callModel({ messages: [{ role: 'user', content: '?' }] })
        if (isAsked) await asked
        run?.cancelTool(callId)
        try {
          await answer
        } catch (error) {
          thrown = error
          throw error
        }
      },
    })
    const model = scriptedModel([reply, reply, reply])
    const { text } = await createAgent({ model, tools: [look] }).run('Hi')
    expect(thrown).toMatchObject({ name: 'ToolCancelledError' })
    expect(text).toBe('Done.')
  },
)
