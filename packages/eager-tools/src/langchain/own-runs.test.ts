import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { Command, getCurrentTaskInput, MemorySaver } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { call, fail, respond, say, wait } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'
import { createMiddleware, humanInTheLoopMiddleware, modelRetryMiddleware, type ToolRuntime } from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Agent, human, type Options, type Played, played, shown } from '../../test/langchain.ts'
import { over } from './over.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** In blocks: a finished block seals the call in it. */
const go = async (agent: Agent): Promise<unknown> => {
  const run = await agent.streamEvents(human(), { version: 'v3' })
  return shown(await run.output)
}

const seat = call('look', { q: 'a' }, { id: '1' })
const accepted = [respond(seat, say('x'), wait(50)), respond(say('done'))]
const declined = ['tool-declined']

interface Reserved {
  /** What the tool does after `ms`, and before it reserves the seat. */
  readonly look?: (runtime: ToolRuntime) => unknown
  readonly middleware?: readonly unknown[]
  readonly script?: Parameters<typeof mockModels>[0]['script']
}

/** Which seats are reserved in the end, and how often the tool has been executed. Its effect is `reversible`. */
async function reserved({
  look,
  middleware = [],
  script = accepted,
  ...more
}: Reserved & Omit<Partial<Played>, 'look'>) {
  const seats: string[] = []
  const both: unknown[] = []
  for (const isEager of [false, true]) {
    seats.length = 0
    using mock = mockModels({ script })
    mock.listen()
    const model = new ChatOpenAI({
      apiKey: 'none',
      model: 'gpt',
      useResponsesApi: true,
      configuration: { baseURL: 'http://models.test/v1', fetch: mock.fetch },
    })
    const compensate = ({ q }: { readonly q: string }) => void seats.splice(seats.indexOf(q), 1)
    const { log, result, warnings } = await played(
      {
        responses: [],
        effects: { look: { effect: 'reversible', compensate } },
        options: () => ({ model, middleware }),
        look:
          () =>
          async ({ q }, runtime) => {
            const output = await look?.(runtime)
            seats.push(q)
            return output
          },
        go,
        ...more,
      },
      isEager,
    )
    both.push({ seats: [...seats], result, executed: log.length, warnings })
  }
  return both
}

const silently = (read: () => unknown): unknown => {
  try {
    return read()
  } catch {
    return undefined
  }
}

test('a tool that reads the state of its task, as the tools of MCP servers do, is executed once, early (W46)', async () => {
  const look = ({ config }: ToolRuntime) => void silently(() => getCurrentTaskInput(config))
  const came = { seats: ['a'], executed: 1, result: ['human: go', 'ai: x', 'tool 1: ok a', 'ai: done'], warnings: [] }
  expect(await reserved({ look })).toEqual([came, came])
})

const members: Readonly<Record<string, (runtime: ToolRuntime) => unknown>> = {
  'state.messages': ({ state }) => Array.isArray(Reflect.get(Object(state), 'messages')),
  'the messages of its task': ({ config }) => Reflect.get(Object(getCurrentTaskInput(config)), 'messages'),
  writer: ({ writer }) => writer?.({ a: 1 }),
  executionInfo: (runtime) => Reflect.get(Object(Reflect.get(runtime, 'executionInfo')), 'taskId'),
}

test.for(Object.keys(members))(
  'the seat of an accepted call stays reserved, although its tool reads %s in a try/catch (W46)',
  async (member) => {
    const look = (runtime: ToolRuntime) => void silently(() => members[member]?.(runtime))
    const [plain, eager] = await reserved({ look })
    expect(plain).toMatchObject({ seats: ['a'], executed: 1, warnings: [] })
    expect(eager).toEqual({ ...Object(plain), executed: 2, warnings: declined })
  },
)

test('a tool that declines after the agent has taken its call is undone before the agent executes it (W46)', async () => {
  const look = ({ state }: ToolRuntime) => void silently(() => Reflect.get(Object(state), 'messages'))
  const [plain, eager] = await reserved({ look, ms: 100 })
  expect(plain).toMatchObject({ seats: ['a'], executed: 1 })
  expect(eager).toEqual({ ...Object(plain), executed: 2, warnings: declined })
})

test('a tool that has declined starts early no more, and the warning names what it has read (W46)', async () => {
  const said: string[] = []
  const onWarning = ({ message }: { readonly message: string }) => void said.push(message)
  const look = ({ writer }: ToolRuntime) => void silently(() => writer?.({ a: 1 }))
  const script = ['1', '2', '3', '4'].map((id) => respond(call('look', { q: id }, { id }), say('x'), wait(50)))
  const [plain, eager] = await reserved({ look, script: [...script, respond(say('done'))], settings: { onWarning } })
  expect(plain).toMatchObject({ seats: ['1', '2', '3', '4'], executed: 4 })
  expect(eager).toEqual({ ...Object(plain), executed: 5 })
  expect(said).toEqual([
    'look does not start early any more: it reads writer, which exists only when the response has ended, and the call is executed again',
  ])
})

test('if a middleware changes the arguments, the early run ends and is undone before the agent’s begins (W46)', async () => {
  const change = createMiddleware({
    name: 'change',
    wrapToolCall: (request, ask) => ask({ ...request, toolCall: { ...request.toolCall, args: { q: 'b' } } }),
  })
  // The early run is aborted while it works, and it must be known whether it has reserved a seat.
  const [plain, eager] = await reserved({ middleware: [change], ms: 100 })
  expect(plain).toMatchObject({ seats: ['b'], executed: 1 })
  expect(eager).toEqual({ ...Object(plain), executed: 2 })
})

test('a Command for another id cannot be used, and is undone before the agent executes the call (W46)', async () => {
  const look = ({ toolCallId: tool_call_id }: ToolRuntime) =>
    new Command({ update: { messages: [new ToolMessage({ content: 'by command', tool_call_id })] } })
  const middleware = [modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, jitter: false })]
  const again = respond(call('look', { q: 'a' }, { id: '9' }), say('x'), wait(50))
  const script = [respond(seat, say('x'), wait(50), fail()), again, respond(say('done'))]
  const [plain, eager] = await reserved({ look, middleware, script })
  expect(plain).toMatchObject({ seats: ['a'], executed: 1 })
  expect(eager).toEqual({ ...Object(plain), executed: 2 })
})

test('a tool gets the state of the model’s node (W46)', async () => {
  const look = ({ state }: ToolRuntime) => String(Reflect.get(Object(state), 'city'))
  const cities = createMiddleware({ name: 'cities', stateSchema: z.object({ city: z.string().default('Oslo') }) })
  const came = { seats: ['a'], executed: 1, warnings: [] }
  const both = await reserved({ look, middleware: [cities] })
  expect(both).toMatchObject([came, came])
  const [plain, eager] = both
  expect(eager).toEqual(plain)
  expect(plain).toMatchObject({ result: expect.arrayContaining(['tool 1: Oslo']) })
})

test('a middleware replaces the message and its calls by copies: the seat stays reserved, and is reserved twice only if the copy has another id (W46)', async () => {
  for (const isSame of [true, false]) {
    const copy = createMiddleware({
      name: 'copy',
      async wrapModelCall(request, ask) {
        const { content, tool_calls = [], id } = await ask(request)
        return new AIMessage({ content, tool_calls: structuredClone(tool_calls), ...(isSame && id && { id }) })
      },
    })
    const [plain, eager] = await reserved({ middleware: [copy] })
    expect(plain).toMatchObject({ seats: ['a'], executed: 1 })
    expect(eager).toEqual({ ...Object(plain), executed: isSame ? 1 : 2 })
  }
})

test('a middleware drops a response and asks again for the same seat: it stays reserved (W46)', async () => {
  const twice = createMiddleware({
    name: 'twice',
    async wrapModelCall(request, ask) {
      await ask(request)
      return await ask(request)
    },
  })
  const script = [...accepted.slice(0, 1), ...accepted]
  const [plain, eager] = await reserved({ middleware: [twice], script: [...script, respond(say('done'))] })
  expect(plain).toMatchObject({ seats: ['a'], executed: 1 })
  expect(eager).toMatchObject({ seats: ['a'] })
})

test('a read is executed once, although a middleware asks the model again and drops that response (W46)', async () => {
  const judged = createMiddleware({
    name: 'judged',
    async wrapModelCall(request, ask) {
      const answer = await ask(request)
      await ask(request)
      return answer
    },
  })
  const script = [...accepted.slice(0, 1), respond(say('fine')), ...accepted.slice(1), respond(say('fine'))]
  const [plain, eager] = await reserved({ middleware: [judged], script, effects: { look: 'read' } })
  expect(plain).toMatchObject({ executed: 1 })
  expect(eager).toEqual(plain)
})

test('if an early run does not end within `hold`, the call fails and the seat is not reserved twice (W46)', async () => {
  const change = createMiddleware({
    name: 'change',
    wrapToolCall: (request, ask) => ask({ ...request, toolCall: { ...request.toolCall, args: { q: 'b' } } }),
  })
  const [, eager] = await reserved({ middleware: [change], ms: 1_000, settings: { hold: 100 } })
  expect(eager).toMatchObject({
    seats: [],
    executed: 1,
    result: { thrown: expect.stringContaining('UnfinishedEarly') },
  })
})

test('if the tools do not get the state, an early run is undone before the agent executes the call (W46)', async () => {
  const blind = ({ tools, ...rest }: Options): Options => ({
    ...rest,
    tools: tools.map((one) =>
      over(one, { invoke: (input, config) => one.invoke(input, config && { ...config, state: {} }) }),
    ),
  })
  const [plain, eager] = await reserved({ cut: blind })
  expect(plain).toMatchObject({ seats: ['a'], executed: 1 })
  expect(eager).toEqual({ ...Object(plain), executed: 2 })
})

test('if another call of the response needs an approval, the approved run joins the early one (W46)', async () => {
  const log: string[] = []
  const begin = performance.now()
  const note = (text: string) => void log.push(`${Math.round(performance.now() - begin)} ${text}`)
  const compensate = async () => {
    await new Promise((resolve) => setTimeout(resolve, 40))
    note('undone')
  }
  // With `exactOptionalPropertyTypes` its parameter is `never`.
  const guard = humanInTheLoopMiddleware(Object({ interruptOn: { send: true } }) as never)
  using mock = mockModels({
    script: [respond(seat, call('send', { q: 'x' }, { id: '2' }), say('x'), wait(50)), respond(say('done'))],
  })
  mock.listen()
  const model = new ChatOpenAI({
    apiKey: 'none',
    model: 'gpt',
    useResponsesApi: true,
    configuration: { baseURL: 'http://models.test/v1', fetch: mock.fetch },
  })
  await played(
    {
      responses: [],
      effects: { look: { effect: 'reversible', compensate } },
      settings: { approval: ['send'] },
      options: () => ({ model, middleware: [guard], checkpointer: new MemorySaver() }),
      look: () => () => note('reserved'),
      async go(agent) {
        const config = { configurable: { thread_id: 't' }, version: 'v3' as const }
        await (await agent.streamEvents(human(), config)).output
        const decisions = [{ type: 'approve' }]
        return shown(await (await agent.streamEvents(new Command({ resume: { decisions } }), config)).output)
      },
    },
    true,
  )
  expect(log).toEqual(['20 reserved'])
})
