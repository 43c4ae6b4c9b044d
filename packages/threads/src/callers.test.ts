import { AsyncLocalStorage } from 'node:async_hooks'
import { call, respond, type ScriptedResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, tool } from '@meanwhile/core'
import { keptOf } from '@meanwhile/tests/garbage'
import { context, type Span, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { LEASE, useFakeTime } from '../test/fake-time.ts'
import { processOf } from '../test/processes.ts'
import { createThreads, memoryThreads, type ThreadStore } from './index.ts'

const exporter = new InMemorySpanExporter()
const request = new AsyncLocalStorage<{ readonly name: string }>()

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
})

afterAll(() => {
  context.disable()
  trace.disable()
})

beforeEach(() => exporter.reset())
useFakeTime()

/** Runs work as the handler of a request: with its own async store, and with a span that ends when the work has returned. */
async function inRequest<Result>(name: string, work: (span: Span) => Promise<Result>): Promise<Result> {
  return await request.run({ name }, () =>
    trace.getTracer('http').startActiveSpan(name, async (span) => {
      try {
        return await work(span)
      } finally {
        span.end()
      }
    }),
  )
}

/** The runs in the order of their ends: the request whose span is their parent, and the requests or runs to which they link. */
function runs(): readonly { readonly parent?: string | undefined; readonly links: readonly (string | undefined)[] }[] {
  const spans = exporter.getFinishedSpans()
  const nameOf = (id: string | undefined) => spans.find((span) => span.spanContext().spanId === id)?.name
  return spans
    .filter(({ name }) => name.startsWith('invoke_agent'))
    .map(({ parentSpanContext, links }) => ({
      parent: nameOf(parentSpanContext?.spanId),
      links: links.map(({ context: { spanId } }) => nameOf(spanId)),
    }))
}

/** Threads whose tool `note` records the request in which it runs, and `ask` asks. */
function opened(store: ThreadStore, responses: readonly ScriptedResponse[]) {
  const noted: (string | undefined)[] = []
  const input = z.object({})
  const note = tool({
    name: 'note',
    description: 'Notes.',
    input,
    execute: () => void noted.push(request.getStore()?.name),
  })
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input,
    execute: (_, { answers }) => answers[0] ?? interrupt('?'),
  })
  const agent = createAgent({
    name: 'a',
    model: scriptedModel(responses),
    tools: [note, ask],
    telemetry: { middleware: 'none' },
  })
  return { noted, threads: createThreads({ agent, store, lease: LEASE }) }
}

const notes = [respond(call('note')), respond(say('Done.'))]

test('a turn that waited in the queue runs in the context of its own message, also after its request has ended (W31)', async () => {
  const { noted, threads } = opened(memoryThreads(), [
    respond(wait(100), call('note')),
    respond(say('Done.')),
    ...notes,
  ])
  const first = inRequest('A', async () => await (await threads.send('t', 'one')).result)
  const turn = await inRequest('B', async () => await threads.send('t', 'two'))
  await vi.advanceTimersByTimeAsync(200)
  await first
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect(noted).toEqual(['A', 'B'])
  expect(runs()).toEqual([
    { parent: 'A', links: [] },
    { parent: 'B', links: [] },
  ])
})

test('so does a turn whose message is stored between the end of a turn and the answer of the store (W31)', async () => {
  const store = memoryThreads()
  const slow: ThreadStore = {
    ...store,
    async change(id, decide, options) {
      let ends = false
      const result = await store.change(
        id,
        (...given) => {
          const change = decide(...given)
          ends = change.turns?.some(({ status }) => status === 'completed') ?? false
          return change
        },
        options,
      )
      if (ends) await new Promise((resolve) => setTimeout(resolve, 100))
      return result
    },
  }
  const { noted, threads } = opened(slow, [respond(wait(100), say('One.')), ...notes, ...notes])
  const send = (name: string) => inRequest(name, () => threads.send('t', name))
  await send('A')
  await send('B')
  await vi.advanceTimersByTimeAsync(150)
  const last = await send('C')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await last.result).toMatchObject({ status: 'completed' })
  expect(noted).toEqual(['B', 'C'])
})

test('so do turns that wait while the queue is stopped, while a turn asks, and that begin before send has returned (W31)', async () => {
  const store = memoryThreads()
  let late = false
  const slow: ThreadStore = {
    ...store,
    async change(...given) {
      const result = await store.change(...given)
      if (late) await new Promise((resolve) => setTimeout(resolve, 500))
      return result
    },
  }
  const script = [respond(wait(100), say('never')), ...notes, respond(wait(100), call('ask')), respond(say('Yes.'))]
  const { noted, threads } = opened(slow, [...script, ...notes, respond(wait(100), say('Slow.')), ...notes])
  const send = (name: string) => inRequest(name, () => threads.send('t', name))
  await send('A')
  await send('B')
  void threads.stop('t')
  await vi.advanceTimersByTimeAsync(50)
  expect((await threads.read('t')).queued).toHaveLength(1)

  await send('C')
  await send('D')
  await vi.advanceTimersByTimeAsync(150)
  const { interrupts } = await threads.read('t')
  await inRequest('answers', () => threads.answer('t', { [interrupts[0]?.id ?? '']: 'yes' }))
  await vi.advanceTimersByTimeAsync(50)
  expect(noted).toEqual(['B', 'D'])

  await send('E')
  late = true
  const sent = send('F')
  await vi.advanceTimersByTimeAsync(50)
  late = false
  await vi.advanceTimersByTimeAsync(1_000)
  await (await sent).result
  expect(noted).toEqual(['B', 'D', 'F'])
})

test('a turn that watch takes over runs in the root context, with a link to the run that it continues (W31)', async () => {
  const shared = memoryThreads()
  const process = processOf(shared)
  const first = opened(process.store, [respond(call('note')), respond(wait(60_000))])
  await inRequest('A', () => first.threads.send('t', 'go'))
  await vi.advanceTimersByTimeAsync(50)
  const second = opened(shared, notes)
  const watch = await inRequest('B', async () => second.threads.watch())
  await first.threads.close()
  await vi.advanceTimersByTimeAsync(LEASE)
  watch.close()
  expect(second.noted).toEqual([undefined])
  expect(runs().at(-1)).toEqual({ parent: undefined, links: ['invoke_agent a'] })
})

test('a turn whose message another process has received links to the request of the message (W31)', async () => {
  const shared = memoryThreads()
  const process = processOf(shared)
  const first = opened(process.store, [respond(wait(100), say('never'))])
  await inRequest('A', () => first.threads.send('t', 'one'))
  await inRequest('B', () => first.threads.send('t', 'two'))
  await first.threads.stop('t')
  const second = opened(shared, [...notes, ...notes])
  const turn = await inRequest('C', () => second.threads.send('t', 'three'))
  await turn.result
  expect(second.noted).toEqual([undefined, 'C'])
  expect(runs().slice(-2)).toEqual([
    { parent: undefined, links: ['B'] },
    { parent: 'C', links: [] },
  ])
})

test('nothing keeps the context of a message that was dropped, that has joined another turn, or that another process runs (W31)', async () => {
  const shared = memoryThreads()
  const [here, there] = [
    opened(shared, [respond(wait(100), say('Yes.')), respond(say('Done.'))]),
    opened(shared, notes),
  ]
  const contexts: WeakRef<object>[] = []
  const send = (threads: typeof here.threads, whenBusy: 'queue' | 'steer') => {
    const store = { name: whenBusy }
    contexts.push(new WeakRef(store))
    return request.run(store, () => threads.send('t', 'go', { whenBusy }))
  }
  await here.threads.send('t', 'go')
  await send(here.threads, 'steer')
  await send(here.threads, 'queue')
  await send(there.threads, 'queue')
  await vi.advanceTimersByTimeAsync(10)
  void here.threads.stop('t', { queue: 'drop' })
  await vi.advanceTimersByTimeAsync(LEASE)
  expect((await here.threads.read('t')).status).toBe('idle')
  vi.useRealTimers()
  expect(await keptOf(() => contexts)).toBe(0)
})
