import {
  call,
  collect,
  end,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  agentTool,
  type Checkpoint,
  ConfigError,
  createAgent,
  interrupt,
  type Middleware,
  memoryStore,
  type Tool,
  type ToolSchema,
  tool,
  UnknownCallError,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const anything: ToolSchema<Record<string, unknown>> = z.record(z.string(), z.unknown())
const asks = [respond(call('expert', { request: 'Weather in Rome?' })), respond(say('It is sunny.'))]

function expertOf(responses: readonly ScriptResponse[], tools: readonly Tool[] = [], name = 'expert') {
  return createAgent({ name, description: 'knows', model: scriptedModel(responses), tools, maxSteps: 3 })
}

function caller(tools: readonly Tool[], responses: readonly ScriptResponse[] = asks) {
  return createAgent({ name: 'boss', model: scriptedModel(responses), tools })
}

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

function resultsIn(messages: readonly { readonly role: string }[] | undefined) {
  return messages?.filter(({ role }) => role === 'tool')
}

test('an agent as a tool takes a request, and returns its accepted final answer (M1, M2)', async () => {
  const model = scriptedModel([respond(say('Let me see.'), call('look')), respond(say('Sunny.'))])
  const look = tool({ name: 'look', description: 'l', input: anything, execute: () => 'sun' })
  const expert = createAgent({ name: 'expert', description: 'knows', model, tools: [look] })
  const asked = agentTool(expert)
  expect(asked).toMatchObject({ name: 'expert', description: 'knows' })
  expect(asked.effect).toBeUndefined()

  const result = await settled(caller([asked]).run('Hi'))
  expect(result.text).toBe('It is sunny.')
  expect(resultsIn(result.messages)).toMatchObject([{ content: [{ type: 'text', text: 'Sunny.' }], output: 'Sunny.' }])
  expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: 'Weather in Rome?' }])
})

test.each([
  ['name', createAgent({ description: 'd', model: scriptedModel([]) })],
  ['description', createAgent({ name: 'n', model: scriptedModel([]) })],
])('an agent as a tool needs a %s, from the agent or the tool (M1)', (option, agent) => {
  expect(() => agentTool(agent)).toThrow(ConfigError)
  expect(() => agentTool(agent)).toThrow(expect.objectContaining({ option }))
  expect(agentTool(agent, { name: 'x', description: 'y', effect: 'read' })).toMatchObject({
    name: 'x',
    description: 'y',
    effect: 'read',
  })
})

test('a value that is not an agent, and a depth at which it never runs, are a ConfigError (A2, M5)', () => {
  const agent = createAgent({ name: 'n', description: 'd', model: scriptedModel([]) })
  for (const none of [undefined, {}, { ...agent }])
    expect(() => agentTool(none as never)).toThrow(new ConfigError('agent', 'must be an agent that createAgent made'))
  for (const maxDepth of [0, -1, 1.5, Number.NaN])
    expect(() => agentTool(agent, { maxDepth })).toThrow(expect.objectContaining({ option: 'maxDepth' }))
  expect(agentTool(agent, { maxDepth: Number.POSITIVE_INFINITY }).name).toBe('n')
})

test('any other input reaches the agent as JSON (M1)', async () => {
  const model = scriptedModel([respond(say('Sunny.'))])
  const expert = createAgent({ name: 'expert', description: 'knows', model })
  const asked = agentTool(expert, { input: z.object({ city: z.string() }) })
  await settled(caller([asked as Tool], [respond(call('expert', { city: 'Rome' })), respond(say('Ok.'))]).run('Hi'))
  expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: '{"city":"Rome"}' }])
})

test.each([
  ['an empty answer', [respond(say(' '))], 'empty answer'],
  ['a failure', [respond(fail({ status: 400 }))], 'expert failed'],
  ['the step limit', [1, 2, 3].map(() => respond(call('nothing'))), 'no final answer within 3 steps'],
])('%s of the agent is an error result, and the caller goes on (M2, M3)', async (_, responses, text) => {
  const result = await settled(caller([agentTool(expertOf(responses))]).run('Hi'))
  expect(result.text).toBe('It is sunny.')
  expect(resultsIn(result.messages)).toMatchObject([
    { isError: true, content: [{ text: expect.stringContaining(text) as string }] },
  ])
})

test('an abort of the caller stays an abort, and stops the agent with all its calls (M3)', async () => {
  let stopped: unknown
  const slow = tool({
    name: 'slow',
    description: 's',
    input: anything,
    execute: (_, { signal }) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          stopped = signal.reason
          reject(signal.reason as Error)
        }),
      ),
  })
  const controller = new AbortController()
  setTimeout(() => controller.abort(new Error('enough')), 100)
  const run = caller([agentTool(expertOf([respond(call('slow'))], [slow]))]).run('Hi', { signal: controller.signal })
  await expect(settled(run)).rejects.toMatchObject({ name: 'AbortError', cause: { message: 'enough' } })
  expect(stopped).toMatchObject({ name: 'AbortError' })
})

test('the reader sees the agent’s events with their path, and the history does not contain them (M4)', async () => {
  const expert = expertOf([respond(say('Sunny.'))])
  const { events, result } = await settled(collect(caller([agentTool(expert)]).stream('Hi')))
  const nested = events.filter((event) => event.path)
  expect(nested.map(({ type }) => type)).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'text-delta',
    'message',
    'step-end',
    'run-end',
  ])
  expect(new Set(nested.map(({ path }) => JSON.stringify(path)))).toEqual(
    new Set([JSON.stringify([{ agent: 'expert', callId: 'call_1_1' }])]),
  )
  expect(new Set(nested.map(({ runId }) => runId)).size).toBe(1)
  expect(nested[0]?.runId).not.toBe(events[0]?.runId)
  expect(result?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])

  const kept = agentTool(expertOf([respond(say('Sunny.'))]), { events: false })
  const quiet = await settled(collect(caller([kept]).stream('Hi')))
  expect(quiet.events.filter((event) => event.path)).toEqual([])
})

test('the usage of the agent counts once in the caller’s usage, also that of a failed run (M5, B17)', async () => {
  const usage = { inputTokens: 10, outputTokens: 2 }
  const expert = expertOf([respond(call('nothing'), end({ usage })), respond(fail({ status: 400 }))])
  const responses = [respond(call('expert', { request: 'x' }), end({ usage })), respond(say('Ok.'), end({ usage }))]
  const result = await settled(caller([agentTool(expert)], responses).run('Hi'))
  expect(result.usage).toEqual({ inputTokens: 30, outputTokens: 6 })
})

test('agents call agents no deeper than they may (M5)', async () => {
  const inner = expertOf([respond(say('Deep.'))], [], 'inner')
  const middle = expertOf(
    [respond(call('inner', { request: 'x' })), respond(say('Middle.'))],
    [agentTool(inner, { maxDepth: 1 })],
    'expert',
  )
  const result = await settled(collect(caller([agentTool(middle)]).stream('Hi')))
  const refused = result.events.filter((event) => event.type === 'tool-end' && event.message.isError)
  expect(refused).toMatchObject([
    { path: [{ agent: 'expert' }], message: { content: [{ text: expect.stringContaining('1 deep') as string }] } },
  ])
  expect(result.result?.text).toBe('It is sunny.')
})

test('a call inside an agent is cancelled and its status read by the path of its events, while the agent is running (I4, I6, M4)', async () => {
  const slow = tool({
    name: 'slow',
    description: 's',
    input: anything,
    execute: () => new Promise((resolve) => setTimeout(() => resolve('never'), 60_000)),
  })
  const inner = expertOf([respond(call('slow')), respond(say('Given up.'))], [slow as Tool], 'inner')
  const middle = expertOf([respond(call('inner', { request: 'x' })), respond(say('Sunny.'))], [agentTool(inner)])
  const run = caller([agentTool(middle)]).stream('Hi')
  const told: unknown[] = []
  for await (const event of run) {
    if (event.type !== 'tool-start' || event.call.name !== 'slow') continue
    const { callId, path = [] } = event
    await vi.advanceTimersByTimeAsync(10)
    told.push(
      path.map(({ agent }) => agent),
      run.toolStatus(callId, path)?.state,
    )
    told.push(run.toolStatus('nobody', path), run.toolStatus(callId, [{ agent: 'expert', callId: 'nobody' }]))
    expect(() => run.cancelTool('nobody', path)).toThrow(new UnknownCallError('nobody'))
    expect(() => run.cancelTool(callId, [{ agent: 'expert', callId: 'nobody' }])).toThrow(UnknownCallError)
    told.push(run.cancelTool(callId, path))
    await vi.runAllTimersAsync()
    told.push(run.cancelTool(callId, path), run.toolStatus(callId, path))
  }
  expect(told).toEqual([['expert', 'inner'], 'running', undefined, undefined, true, false, undefined])
  expect((await run.result).text).toBe('It is sunny.')
})

test('one agent serves many callers in parallel (M5)', async () => {
  const expert = createAgent({
    name: 'expert',
    description: 'knows',
    model: scriptedModel(Array.from({ length: 20 }, (_, n) => respond(wait(10), say(`Answer ${n}.`)))),
  })
  const asked = agentTool(expert)
  const results = await settled(Promise.all(Array.from({ length: 20 }, () => caller([asked]).run('Hi'))))
  const answers = results.map(({ messages }) => JSON.stringify(resultsIn(messages)))
  expect(new Set(answers).size).toBe(20)
})

const ask = tool({
  name: 'ask',
  description: 'asks',
  input: anything,
  execute: (_, { answers }) => {
    if (answers.length === 0) throw interrupt({ question: 'Really?' })
    return `answered ${JSON.stringify(answers)}`
  },
})

test('a question of an agent inside a call names its run, also two calls deep, in a stored checkpoint and when it is asked again (W49, W51)', async () => {
  const asking = () => expertOf([respond(call('ask'))], [ask as Tool])
  const middle = expertOf([respond(call('expert', { request: '?' }))], [agentTool(asking())], 'middle')
  const model = [respond(call('ask'), call('expert', { request: '?' }), call('middle', { request: '?' }))]
  const boss = caller([ask as Tool, agentTool(asking()), agentTool(middle)], model)
  const { result, events } = await settled(collect(boss.stream('Hi')))
  const runs = events.flatMap(({ type, path, runId }) =>
    path && type === 'run-start' ? [[path.map(({ agent }) => agent).join(), runId]] : [],
  )
  const { '': own, expert, ...deeper } = { '': undefined, ...Object.fromEntries(runs) }
  const named = [own, expert, deeper['middle,expert']]
  expect(named.slice(1)).not.toContain(undefined)
  expect(result?.interrupts?.map(({ innerRun }) => innerRun)).toEqual(named)
  const [first] = result?.interrupts ?? []
  const checkpoint = JSON.parse(JSON.stringify(result?.checkpoint)) as Checkpoint
  const again = await settled(boss.resume(checkpoint, { [first?.id ?? '']: 'yes' }).result)
  expect(again.interrupts?.map(({ innerRun }) => innerRun)).toEqual(named.slice(1))
})

test('a question of a nested agent has its whole address, and the answer resumes it there (L4, L9)', async () => {
  let counted = 0
  const count = tool({ name: 'count', description: 'c', input: anything, execute: () => ++counted })
  const expert = expertOf([respond(call('ask'), call('count')), respond(say('Sunny.'))], [ask as Tool, count as Tool])
  const boss = createAgent({
    name: 'boss',
    model: scriptedModel(asks),
    tools: [agentTool(expert)],
    checkpoints: memoryStore(),
  })
  const first = await settled(boss.run('Hi'))
  expect(first.status).toBe('interrupted')
  expect(first.interrupts).toEqual([
    {
      id: expect.stringMatching(/^interrupt_/) as string,
      address: [
        { agent: 'boss' },
        { tool: 'expert', callId: 'call_1_1' },
        { agent: 'expert' },
        { tool: 'ask', callId: 'call_1_1' },
      ],
      innerRun: expect.any(String) as string,
      payload: { question: 'Really?' },
    },
  ])
  const [asked] = first.interrupts ?? []
  const { result, events } = await settled(collect(boss.resume(first.checkpoint ?? '', { [asked?.id ?? '']: 'yes' })))
  expect(result?.text).toBe('It is sunny.')
  expect(counted).toBe(1)
  const told = events.flatMap((event: AgentEvent) => (event.type === 'tool-end' ? [event.message.output] : []))
  expect(told).toEqual(['answered ["yes"]', 'Sunny.'])
})

test('a middleware of a nested agent asks: only that agent needs it, and a resume misses it only there (L18, L9)', async () => {
  const allows: Middleware = {
    name: 'allows',
    wrapToolCall(call, next, { answers }) {
      if (answers.length === 0) throw interrupt('May it look?')
      return next(call)
    },
  }
  let looked = 0
  const look = tool({ name: 'look', description: 'l', input: anything, execute: () => ++looked })
  const asked = scriptedModel(asks)
  const model = scriptedModel([respond(call('look')), respond(say('Sunny.'))])
  const bossWith = (middleware: readonly Middleware[]) => {
    const expert = createAgent({ name: 'expert', description: 'knows', model, tools: [look], middleware })
    return createAgent({ name: 'boss', model: asked, tools: [agentTool(expert)] })
  }
  const { checkpoint, interrupts } = await settled(bossWith([allows]).run('Hi'))
  const resumed = async (middleware: readonly Middleware[]) =>
    settled(bossWith(middleware).resume(checkpoint ?? '', { [interrupts?.[0]?.id ?? '']: 'yes' }).result)
  await expect(resumed([])).rejects.toThrow('agent expert has no middleware allows, which asked a question')
  expect(looked).toBe(0)
  expect(await resumed([allows])).toMatchObject({ status: 'completed' })
  expect(looked).toBe(1)
})

test.each([
  ['after-tools', 500],
  ['after-tools', 5],
  ['after-model', 500],
  ['now', 500],
] as const)(
  'a cancel %s at %d ms reaches the agent: it stops at its own safe point, and continues from there (K16)',
  async (at, ms) => {
    let looked = 0
    const look = tool({
      name: 'look',
      description: 'l',
      input: anything,
      effect: 'read',
      execute: () => new Promise((resolve) => setTimeout(() => resolve(`seen ${++looked}`), 1_000)),
    })
    const expert = expertOf([respond(wait(10), call('look')), respond(say('Sunny.'))], [look as Tool])
    const boss = caller([agentTool(expert)])
    const run = boss.stream('Hi')
    await vi.advanceTimersByTimeAsync(ms)
    const cancelled = run.cancel({ at })
    const first = await settled(run.result)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(first.messages.at(-1)).toMatchObject({ role: 'tool', isError: true })
    expect(first.checkpoint?.calls[0]?.runs[0]?.checkpoint).toMatchObject({ agent: 'expert' })

    const { result } = await settled(collect(boss.resume(first.checkpoint ?? '')))
    expect(result?.text).toBe('It is sunny.')
    expect(resultsIn(result?.messages)).toMatchObject([{ output: 'Sunny.' }])
    expect(looked).toBe(at === 'now' ? 2 : 1)
  },
)

test('a call inside an agent that may have happened is listed with its path, and the model reads why (K16, L21)', async () => {
  const send = tool({
    name: 'send',
    description: 's',
    input: anything,
    execute: () => new Promise((resolve) => setTimeout(() => resolve('sent'), 1_000)),
  })
  const expert = expertOf([respond(call('send')), respond(say('Sunny.'))], [send as Tool])
  const boss = caller([agentTool(expert)])
  const run = boss.stream('Hi')
  await vi.advanceTimersByTimeAsync(500)
  void run.cancel()
  const first = await settled(run.result)
  const { result, events } = await settled(collect(boss.resume(first.checkpoint ?? '')))
  expect(result?.unknown).toEqual(['call_1_1/call_1_1'])
  const told = events.flatMap((event: AgentEvent) =>
    event.type === 'tool-end' && event.path ? [event.message.content[0]] : [],
  )
  expect(told).toEqual([
    {
      type: 'text',
      text: 'This call had started when the run was cancelled. Its result is unknown: it may have happened. It was not run again.',
    },
  ])
})
