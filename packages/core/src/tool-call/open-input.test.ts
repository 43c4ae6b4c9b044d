import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import {
  type AgentEvent,
  type AgentOptions,
  type Checkpoint,
  type CheckpointStore,
  createAgent,
  type Message,
  type Middleware,
  memoryStore,
  settle,
  type Tool,
  type ToolCall,
  tool,
} from '../index.ts'

// Calls that have started with the members their tools need, before their complete input arrives.

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** Starts calls with their `path`, as soon as it has arrived, and passes the complete input when it is sealed. */
const starting: Middleware = {
  name: 'starting',
  async *wrapModel(request, next, run) {
    const open = new Map<string, (whole: ToolCall) => void>()
    const flow = next(request)
    let step = await flow.next()
    for (; !step.done; step = await flow.next()) {
      const event = step.value
      if (event.type === 'tool-input-ready') {
        const { id, name, input } = event
        const rest = new Promise<ToolCall>((resolve) => open.set(id, resolve))
        run.callTool({ type: 'tool-call', id, name, input }, { rest }).catch(() => undefined)
      }
      if (event.type === 'tool-call') {
        const whole = open.get(event.call.id)
        if (whole) whole(event.call)
        else run.callTool(event.call).catch(() => undefined)
      }
      yield event
    }
    return step.value
  },
}

interface Read {
  readonly log: string[]
  readonly read: Tool
}

/** `ms`: how long the check of a complete input takes; it refuses a line above 9. */
function reading(ms = 0, line: z.ZodType<number | undefined> = z.number()): Read {
  const log: string[] = []
  const begin = performance.now()
  const note = (did: string) => void log.push(`${performance.now() - begin} ${did}`)
  const input = z.object({ path: z.string(), from: line }).refine(({ from = 0 }) => sleep(ms).then(() => from <= 9))
  const read = tool({
    name: 'read',
    description: 'Reads.',
    input,
    effect: 'read',
    needs: ['path'],
    async execute({ path }, { rest, run, callId }) {
      note(`opens ${path} for ${callId}`)
      await run?.callTool({ type: 'tool-call', id: `part of ${callId}`, name: 'part', input: {} })
      const { from } = await rest
      note(`reads ${path} from ${from} for ${callId}`)
      return `${path} ${from}`
    },
  })
  return { log, read: read as Tool }
}

const part: Tool = tool({
  name: 'part',
  description: 'p',
  input: z.object({}),
  effect: 'idempotent',
  execute: () => 'part',
})

const asks = (id: string, from: number) =>
  call('read', `{"path":"a","from":${from}}`, { id, deltas: ['{"path":"a"', `,"from":${from}}`] })

async function ran(
  read: Tool,
  responses: Parameters<typeof scriptedModel>[0],
  { middleware = [], ...more }: Partial<AgentOptions> = {},
) {
  const model = scriptedModel(responses, { pace: { firstToken: 10, betweenTokens: 10 } })
  const agent = createAgent({ model, tools: [read, part], ...more, middleware: [...middleware, starting] })
  const reading = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  return await reading
}

const CALL_EVENTS: readonly string[] = ['tool-start', 'tool-discarded', 'tool-committed', 'tool-end']

/** What the reader sees of calls that the response requested. */
function toldOf(events: readonly AgentEvent[]): readonly string[] {
  return events.flatMap((event) =>
    'callId' in event && CALL_EVENTS.includes(event.type) && !event.callId?.startsWith('part')
      ? [`${event.type} ${event.callId}`]
      : [],
  )
}

const textIn = ({ content }: Message) =>
  typeof content === 'string' || content[0]?.type !== 'text' ? content : content[0].text

const resultsIn = (messages: readonly Message[] = []) =>
  messages.flatMap((message) => (message.role === 'tool' ? [[message.callId, message.output ?? textIn(message)]] : []))

test('the commit waits while a complete input is checked, and commits what is valid then (MA17, H32)', async () => {
  const { log, read } = reading(100)
  const { result, events } = await ran(read, [respond(asks('a', 7), asks('b', 8)), respond(say('Done'))])
  expect(log).toEqual(['20 opens a for a', '50 opens a for b', '130 reads a from 7 for a', '160 reads a from 8 for b'])
  expect(resultsIn(result?.messages)).toEqual([
    ['a', 'a 7'],
    ['b', 'a 8'],
  ])
  const calls = ['a', 'b']
  expect(toldOf(events)).toEqual([
    ...calls.map((id) => `tool-start ${id}`),
    ...calls.flatMap((id) => [`tool-committed ${id}`, `tool-end ${id}`]),
  ])
})

test('only a call whose complete input is refused while the commit waits is discarded and made again (MA17, H32)', async () => {
  const { log, read } = reading(100)
  const { result, events } = await ran(read, [respond(asks('a', 10), asks('b', 8)), respond(say('Done'))])
  expect(log).toEqual(['20 opens a for a', '50 opens a for b', '160 reads a from 8 for b'])
  expect(resultsIn(result?.messages)).toEqual([
    ['a', 'invalid input for read: Invalid input'],
    ['b', 'a 8'],
  ])
  expect(toldOf(events)).toEqual([
    'tool-start a',
    'tool-start b',
    'tool-discarded a',
    'tool-start a',
    'tool-committed b',
    'tool-end b',
    'tool-end a',
  ])
})

/** Makes two parallel requests: the second while the first response is still streaming. The second is accepted. */
const hedging: Middleware = {
  name: 'hedging',
  async *wrapModel(request, next, run) {
    if (run.step > 1) return yield* next(request)
    const first = settle(next(request))
    first.catch(() => undefined)
    await sleep(35)
    return yield* next(request)
  },
}

/** 10 ms between its pieces. */
const LONG = ['{"path":"a"', ',"fr', 'om"', ':', '7', '}']

test('a call whose input is incomplete is not joined by a call of another attempt (MA17, H22)', async () => {
  const { log, read } = reading(0, z.number().optional())
  const { result, error } = await ran(
    read,
    [
      respond(call('read', LONG.join(''), { id: 'slow', deltas: LONG }), wait(500)),
      respond(call('read', '{"path":"a"}', { id: 'quick', deltas: 1 })),
      respond(say('Done')),
    ],
    { middleware: [hedging] },
  )
  expect(error).toBeUndefined()
  expect(log).toEqual(['20 opens a for slow', '55 opens a for quick', '55 reads a from undefined for quick'])
  expect(resultsIn(result?.messages)).toEqual([['quick', 'a undefined']])
})

test('a checkpoint contains neither a call whose input is incomplete nor its inner calls (MA17, H25, O9)', async () => {
  const begin = performance.now()
  const { read } = reading()
  const inner = memoryStore()
  const saved: (readonly [at: number, calls: readonly string[]])[] = []
  const store: CheckpointStore = {
    ...inner,
    save(id, checkpoint, revision) {
      const { calls } = checkpoint as Checkpoint
      saved.push([performance.now() - begin, calls.map(({ id }) => id)])
      return inner.save(id, checkpoint, revision)
    },
  }
  const responses = [respond(call('read', LONG.join(''), { id: 'a', deltas: LONG })), respond(say('Done'))]
  // It runs on for a while, because a save that nobody waits for begins 10 ms later.
  const slow: Tool = { ...read, execute: async (...given) => [await read.execute?.(...given), await sleep(20)][0] }
  await ran(slow, responses, { checkpoints: store })
  const calls = (from: number, to: number) => saved.flatMap(([at, calls]) => (at >= from && at < to ? [calls] : []))
  // Its inner calls are saved before they begin and when they have ended.
  expect(calls(20, 70)).toEqual([[], []])
  expect(calls(70, 90)).toContainEqual(['a', 'part of a'])
})

test('a cancelled run undoes the inner calls of a call whose input is incomplete, because no checkpoint contains them (H23, MA17)', async () => {
  const log: string[] = []
  const write = tool({
    name: 'write',
    description: 'Writes.',
    input: z.object({ path: z.string() }),
    effect: 'reversible',
    execute({ path }) {
      log.push(`wrote ${path}`)
      return path
    },
    compensate: (_, path) => void log.push(`undid ${path}`),
  })
  const batch = tool({
    name: 'batch',
    description: 'Writes, and reads what to do next.',
    input: z.object({ path: z.string(), from: z.number() }),
    needs: ['path'],
    effect: 'calls',
    async execute({ path }, { run, callId, rest }) {
      await run?.callTool({ type: 'tool-call', id: `${callId} writes`, name: 'write', input: { path } })
      return `${path} ${(await rest).from}`
    },
  })
  const model = scriptedModel([respond(call('batch', LONG.join(''), { id: 'a', deltas: LONG }))], {
    pace: { firstToken: 10, betweenTokens: 10 },
  })
  const run = createAgent({ model, tools: [batch, write], middleware: [starting] }).stream('Write.')
  setTimeout(() => void run.cancel({ at: 'now' }), 40)
  await vi.runAllTimersAsync()
  const result = await run.result
  expect(result.checkpoint?.calls).toEqual([])
  expect(log).toEqual(['wrote a', 'undid a'])
})
