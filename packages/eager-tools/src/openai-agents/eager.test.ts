import { getEventListeners } from 'node:events'
import { sleep } from '@meanwhile/tests/clock'
import { keptOf } from '@meanwhile/tests/garbage'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { sized } from '@meanwhile/tests/size'
import {
  Agent,
  getCurrentSpan,
  type MCPServer,
  type Model,
  RunContext,
  Runner,
  RunState,
  tool,
  toolNamespace,
} from '@openai/agents'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  answer,
  type Case,
  compared,
  consumed,
  done,
  executed,
  guarded,
  one,
  played,
  Q,
  requested,
  Script,
  sealed,
  text,
} from '../../test/agents.ts'
import { loadInternals, eager as without } from '../../test/bare-agents.ts'
import { eager, type StepSavings } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const look = tool({ name: 'look', description: 'l', parameters: z.object({ q: z.string() }), execute: () => 'ok' })
test('invalid arguments are reported at once (R11)', () => {
  const runner = new Runner()
  const wrong = (effects: object, settings?: object) => () => eager(runner, { ...effects }, settings)
  expect(wrong({ look: 'write' })).toThrow('write is not an effect')
  expect(wrong({ look: { effect: 'reversible' } })).toThrow('compensate')
  expect(wrong({ look: 'read' }, { independent: 'look' })).toThrow('independent')
  expect(wrong({ look: 'read' }, { stream: true })).toThrow('alwaysStream')
  const other = { constructor: { name: 'Runner' } }
  const given = (runner: unknown) => () => eager(runner as Runner, { look: 'read' })
  expect(given({ run: () => undefined })).toThrow('must be a Runner of @openai/agents')
  expect(given(undefined)).toThrow('must be a Runner of @openai/agents')
  expect(given(new Agent({ name: 'a' }))).toThrow('is an Agent; pass a Runner')
  expect(given(other)).toThrow("in CommonJS, take Runner from await import('@openai/agents')")
})

test('a runner without a declared tool is the same object (R11)', () => {
  const runner = new Runner()
  expect(eager(runner, {})).toBe(runner)
  expect(eager(runner, { send: 'external' })).toBe(runner)
})

test('an eager runner is a runner: its events, its settings, and the plain one next to it (R11)', async () => {
  const model = new Script([answer])
  const plain = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true })
  const runner = eager(plain, { look: 'read' })
  const ended: unknown[] = []
  runner.on('agent_end', (_, agent, output) => ended.push([agent.name, output]))
  const { finalOutput } = await runner.run(new Agent({ name: 'a', tools: [look] }), 'go')
  expect([finalOutput, ended]).toEqual(['done', [['a', 'done']]])
  expect(runner).toBeInstanceOf(Runner)
  expect(runner.config).toBe(plain.config)
})

test('a run of the plain runner with the same agent and model is plain (R1)', async () => {
  const go: Case['go'] = async (runner, agent, model) => {
    await consumed(await runner.run(agent, 'go', { stream: true }))
    const plain = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true })
    return consumed(await plain.run(agent, 'go', { stream: true }))
  }
  const { early } = await compared({ responses: [one('1'), answer, one('2'), answer], go })
  expect(early).toEqual(['0 look 1 a', '200 look 2 a'])
})

test('each eager() around one runner has its own effects (R1)', async () => {
  const log: string[] = []
  const begin = performance.now()
  const tools = ['look', 'send'].map((name) =>
    tool({
      name,
      description: name,
      parameters: z.object({ q: z.string() }),
      execute: () => log.push(`${performance.now() - begin} ${name}`),
    }),
  )
  const response = [...sealed('1'), ...sealed('2', 'send', Q, 1), 100, done(requested('1'), requested('2', 'send'))]
  const model = new Script([response, answer, response, answer])
  const plain = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true })
  const agent = new Agent({ name: 'a', model: 's', tools })
  const settings = { independent: ['look', 'send'] }
  const runners = [eager(plain, { look: 'read' }, settings), eager(plain, { send: 'read' }, settings)]
  const going = (async () => {
    for (const runner of runners) await consumed(await runner.run(agent, 'go', { stream: true }))
  })()
  await vi.advanceTimersByTimeAsync(1_000)
  await going
  expect(log).toEqual(['0 look', '100 send', '100 send', '200 look'])
})

test('model objects, of an agent or of the runner, are observed, and stay the same objects (R2)', async () => {
  for (const where of ['agent', 'runner']) {
    const responses = [one(), answer]
    let model: Model | undefined
    const go: Case['go'] = async (runner, agent) => {
      model = new Script(responses)
      if (where === 'agent') agent.model = model
      else {
        agent.model = ''
        runner.config.model = model
      }
      const result = await consumed(await runner.run(agent, 'go', { stream: true }))
      expect(where === 'agent' ? agent.model : runner.config.model).toBe(model)
      expect(Object.keys({ ...model })).toEqual(['requests'])
      return result
    }
    const { early, plain } = await compared({ responses, go })
    expect([plain, early]).toEqual([['100 look 1 a'], ['0 look 1 a']])
  }
})

test('an agent as a tool is never early, and the run inside it is plain (R6)', async () => {
  const go: Case['go'] = async (runner, agent) => {
    const outer = new Agent({
      name: 'o',
      model: 'scripted',
      tools: [agent.asTool({ toolName: 'ask', toolDescription: 'a' })],
    })
    return consumed(await runner.run(outer, 'go', { stream: true }))
  }
  const responses = [one('1', '{"input":"x"}', 50, 'ask'), one('2'), answer]
  expect(
    await executed({ responses, go, effects: { ask: 'read', look: 'read' }, settings: { onWarning: () => undefined } }),
  ).toEqual([['150 look 2 a'], ['150 look 2 a']])
})

const mcp = (log: string[]): MCPServer => ({
  name: 'm',
  cacheToolsList: false,
  connect: async () => undefined,
  close: async () => undefined,
  invalidateToolsCache: async () => undefined,
  listTools: async () => [
    {
      name: 'fetch',
      description: 'f',
      inputSchema: {
        type: 'object',
        properties: { q: { type: 'string' } },
        required: ['q'],
        additionalProperties: false,
      },
    },
  ],
  async callTool(name, args) {
    log.push(`${name} ${JSON.stringify(args)}`)
    await sleep(50)
    return [{ type: 'text', text: 'page' }]
  },
})

test('a tool of an MCP server starts early, and a run that pauses meanwhile continues from its state (R2)', async () => {
  const logs: string[][] = []
  const go: Case['go'] = async (runner, agent) => {
    const log: string[] = []
    logs.push(log)
    agent.tools = [guarded]
    agent.mcpServers = [mcp(log)]
    const begin = performance.now()
    const first = await runner.run(agent, 'go', { stream: true })
    const paused = await consumed(first)
    log.push(`${performance.now() - begin}`)
    const state = await RunState.fromString(agent, first.state.toString())
    for (const interruption of state.getInterruptions()) state.approve(interruption)
    return [paused, await consumed(await runner.run(agent, state, { stream: true }))]
  }
  const responses = [[...sealed('1', 'fetch'), 50, done(requested('1', 'fetch'), requested('2', 'guarded'))], answer]
  expect(await executed({ responses, go, effects: { fetch: 'read' } })).toEqual([[], []])
  expect(logs).toEqual([
    ['fetch {"q":"a"}', '100'],
    ['fetch {"q":"a"}', '50'],
  ])
})

test('an eager run with a tool of an MCP server continues in a plain runner, and a plain run in an eager one (R1)', async () => {
  const responses = [[...sealed('1', 'fetch'), 50, done(requested('1', 'fetch'), requested('2', 'guarded'))], answer]
  const results: unknown[] = []
  for (const isFirst of [true, false]) {
    const log: string[] = []
    const go: Case['go'] = async (runner, agent, model) => {
      const plain = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true })
      const [one, other] = isFirst ? [runner, plain] : [plain, runner]
      agent.tools = [guarded]
      agent.mcpServers = [mcp(log)]
      const first = await one.run(agent, 'go', { stream: true })
      await consumed(first)
      const state = await RunState.fromString(agent, first.state.toString())
      for (const interruption of state.getInterruptions()) state.approve(interruption)
      return consumed(await other.run(agent, state, { stream: true }))
    }
    const { result, warnings } = await played({ responses, go, effects: { fetch: 'read' } }, true)
    results.push(result)
    expect([log, warnings]).toEqual([['fetch {"q":"a"}'], []])
  }
  expect(results[0]).toMatchObject({ output: 'done', asks: 0 })
  expect(results[1]).toEqual(results[0])
})

test('a run that continues from its state makes the approved call itself, without a warning (R10)', async () => {
  const go: Case['go'] = async (runner, agent) => {
    const first = await runner.run(agent, 'go', { stream: true })
    await consumed(first)
    const state = await RunState.fromString(agent, first.state.toString())
    for (const interruption of state.getInterruptions()) state.approve(interruption)
    return consumed(await runner.run(agent, state, { stream: true }))
  }
  const [plain, early] = await executed({
    responses: [one(), one('2'), answer],
    look: { needsApproval: true },
    effects: { send: 'read' },
    go,
  })
  expect(early).toEqual(plain)
})

test('early calls respect the SDK’s limit of simultaneous executions (R9)', async () => {
  const responses = [[...sealed('1'), ...sealed('2', 'look', Q, 1), 100, done(requested('1'), requested('2'))], answer]
  const toolExecution = { maxFunctionToolConcurrency: 1 }
  const oneByOne = [
    ['100 look 1 a', '120 look 2 a'],
    ['0 look 1 a', '20 look 2 a'],
  ]
  expect(await executed({ responses, runner: { toolExecution } })).toEqual(oneByOne)
  expect(await executed({ responses, run: () => ({ toolExecution }) })).toEqual(oneByOne)
})

test('a reversible call that is not used is undone (R4)', async () => {
  const undone: unknown[] = []
  const look = {
    effect: 'reversible' as const,
    compensate: (input: { q: string }, output: unknown) => void undone.push([input, output]),
  }
  const { early } = await compared({ responses: [[...sealed('1'), 50, new Error('cut')], answer], effects: { look } })
  expect([early, undone]).toEqual([['0 look 1 a'], [[{ q: 'a' }, 'ok a']]])
})

test('a call is undone only if it has succeeded: not if it returns the text of an error, or exceeds its timeout (R4)', async () => {
  const undone: unknown[] = []
  const reversible = {
    effect: 'reversible' as const,
    compensate: (_: unknown, output: unknown) => void undone.push(output),
  }
  const broken: Case['body'] = () => {
    throw new Error('broken')
  }
  const cut = [...sealed('1'), 50, new Error('cut')]
  for (const tracingDisabled of [true, false]) {
    const scenario = { responses: [cut, answer], runner: { tracingDisabled }, effects: { look: reversible } }
    await compared({ ...scenario, body: broken })
    await compared({ ...scenario, body: broken, look: { errorFunction: () => 'sorry' } })
    await compared({ ...scenario, look: { timeoutMs: 10 } })
    await compared({ ...scenario, look: { timeoutMs: 10, timeoutErrorFunction: () => 'late' } })
    expect(undone).toEqual([])
    await compared({ ...scenario, look: { timeoutMs: 30 } })
    expect(undone.splice(0)).toEqual(['ok a'])
  }
})

test('a call that has succeeded is undone, whatever its span contains about other calls or from the tool itself (R4)', async () => {
  const undone: unknown[] = []
  const look = {
    effect: 'reversible' as const,
    compensate: ({ q }: { q: string }, output: unknown) => void undone.push([q, output]),
  }
  const broken = tool({
    name: 'inner',
    description: 'fails as a text',
    parameters: z.object({}),
    execute: () => {
      throw new Error('broken')
    },
  })
  const cut = (...calls: Case['responses'][number]) => [[...calls, 50, new Error('cut')], answer]
  const bodies: readonly NonNullable<Case['body']>[] = [
    async () => void (await broken.invoke(new RunContext({}), '{}')),
    () => {
      getCurrentSpan()?.setError({ message: 'only a remark' })
    },
  ]
  for (const tracingDisabled of [true, false]) {
    const scenario = { responses: cut(...sealed('1')), runner: { tracingDisabled }, effects: { look } }
    for (const body of bodies) {
      await compared({ ...scenario, body })
      expect(undone.splice(0)).toEqual([['a', 'ok a']])
    }
    const body: Case['body'] = ({ q }) => {
      if (q === 'b') throw new Error('broken')
    }
    // Both are running at once.
    const responses = cut(...sealed('1'), ...sealed('2', 'look', '{"q":"b"}', 1))
    await compared({ ...scenario, settings: { independent: ['look'] }, responses, body })
    expect(undone.splice(0)).toEqual([['a', 'ok a']])
  }
})

test('a turn does not start calls early if guardrails run again because input was added to the run (R6)', async () => {
  const inputGuardrails = [{ name: 'g', execute: async () => ({ tripwireTriggered: false, outputInfo: {} }) }]
  const go: Case['go'] = async (runner, agent) => {
    agent.tools.push(guarded)
    const first = await runner.run(agent, 'go', { stream: true })
    const paused = await consumed(first)
    const { state } = first
    for (const interruption of state.getInterruptions()) state.approve(interruption)
    state.addInput('and more')
    return [paused, await consumed(await runner.run(agent, state, { stream: true }))]
  }
  const responses = [[done(requested('0', 'guarded'))], one('1'), one('2'), answer]
  expect(await executed({ responses, go, agent: { inputGuardrails } })).toEqual([
    ['100 look 1 a', '220 look 2 a'],
    ['100 look 1 a', '120 look 2 a'],
  ])
})

test('runs with one context do not share the ids of their calls (R2)', async () => {
  const go: Case['go'] = async (runner, agent) => {
    const context = new RunContext()
    const results: object[] = []
    for (const input of ['a', 'b'])
      results.push(await runner.run(agent, input, { stream: true, context }).then(consumed))
    return results
  }
  expect(await executed({ responses: [one(), answer, one(), answer], go })).toEqual([
    ['100 look 1 a', '220 look 1 a'],
    ['0 look 1 a', '100 look 1 a'],
  ])
})

test('if a model wraps another observed model, the response is read once (R2)', async () => {
  const go: Case['go'] = async (runner, agent, model) => {
    const inner = new Agent({ name: 'b', model, tools: agent.tools })
    await runner.run(inner, 'x', { stream: true }).then(consumed)
    agent.model = {
      getResponse: (request) => model.getResponse(request),
      getStreamedResponse: (request) => model.getStreamedResponse(request),
    }
    return runner.run(agent, 'go', { stream: true }).then(consumed)
  }
  expect(await executed({ go, responses: [answer, one(), answer] })).toEqual([['100 look 1 a'], ['0 look 1 a']])
})

test('after a truncated stream the whole response is requested again: an equal call with another id executes once (R4)', async () => {
  const retry = { maxRetries: 2, policy: () => true, backoff: { initialDelayMs: 10, jitter: false } }
  const go: Case['go'] = async (runner, agent) => {
    const { finalOutput, history } = await runner.run(agent, 'go')
    return { finalOutput, history }
  }
  const responses = [[...sealed('1'), 50, new Error('cut')], one('2'), answer]
  const agent = { modelSettings: { retry } }
  expect(await executed({ responses, go, agent, ms: 30, settings: { alwaysStream: true } })).toEqual([
    ['160 look 2 a'],
    ['0 look 1 a'],
  ])
})

test('a tool in a namespace is never early (R6)', async () => {
  const go: Case['go'] = async (runner, agent) => {
    const [look] = agent.tools
    if (look?.type === 'function') agent.tools = toolNamespace({ name: 'n', description: 'd', tools: [look] })
    return runner.run(agent, 'go', { stream: true }).then(consumed)
  }
  const namespace = { namespace: 'n' }
  const responses = [[...sealed('1', 'look', Q, 0, namespace), 100, done({ ...requested('1'), ...namespace })], answer]
  expect(await executed({ responses, go })).toEqual([['100 look 1 a'], ['100 look 1 a']])
})

test('the SDK finds hidden members of a tool, and those of its class (R1)', async () => {
  const [named] = toolNamespace({ name: 'n', description: 'd', tools: [look] })
  const [namespace] = Object.getOwnPropertySymbols(named)
  const inherited = Object.assign(Object.create({ description: 'inherited' }), { ...look, description: undefined })
  delete inherited.description
  const hidden = Object.defineProperty({ ...look, name: 'hidden' }, namespace ?? '', { value: 'n' })
  const model = new Script([answer])
  const runner = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true })
  const agent = new Agent({ name: 'a', tools: [inherited, hidden] })
  await eager(runner, { look: 'read', hidden: 'read' }).run(agent, 'go')
  expect(model.requests[0]?.tools).toMatchObject([
    { name: 'look', description: 'inherited' },
    { name: 'hidden', namespace: 'n' },
  ])
})

test('a policy receives the model, and holds calls back (R9)', async () => {
  const told: unknown[] = []
  const settings: Case['settings'] = {
    policy: ({ name }, context) => {
      told.push(name, context)
      return 'wait'
    },
  }
  expect(await executed({ responses: [one(), answer], settings })).toEqual([['100 look 1 a'], ['100 look 1 a']])
  expect(told.slice(0, 2)).toEqual([
    'look',
    { effect: 'read', evidence: 'closed', model: { provider: 'openai-agents', id: 'scripted' } },
  ])
})

test('a streamed run that was aborted notifies the provider with the SDK’s own request (R1)', async () => {
  const settings = { alwaysStream: true }
  const run = () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 80)
    return { signal: controller.signal, conversationId: 'c' }
  }
  const response = [...sealed('1'), { ...done(), type: 'response_started' as const }, 100, done(requested('1'))]
  expect(await executed({ responses: [response, one('2'), answer], run, settings, ms: 300 })).toEqual([
    [],
    ['0 look 1 a aborted'],
  ])
})

test('if a request is not linked to its turn, nothing starts early, and there is one warning (R10)', async () => {
  const go: Case['go'] = async (runner, agent, model) => {
    // A model that wraps the observed one and copies the request.
    agent.model = {
      getResponse: (request) => model.getResponse(request),
      getStreamedResponse: (request) =>
        model.getStreamedResponse({ ...request, tools: structuredClone(request.tools) }),
    }
    const copying = agent.model
    const asked = copying.getStreamedResponse
    await runner.run(agent, 'x', { stream: true }).then(consumed)
    Object.assign(copying, { getStreamedResponse: asked })
    for (const input of ['a', 'b']) await runner.run(agent, input, { stream: true }).then(consumed)
  }
  const { log, warnings } = await played({ go, responses: [answer, one('1'), answer, one('2'), answer] }, true)
  expect([log, warnings]).toEqual([['100 look 1 a', '220 look 2 a'], ['host-unknown']])
})

test('if calls are not linked to their turn, reads are made twice in three steps, then their tool is off (R10)', async () => {
  const go: Case['go'] = async (runner, agent) => {
    await runner.run(agent, 'x', { stream: true }).then(consumed)
    // The SDK gets the original tools.
    const { getAllTools } = agent
    const [look] = agent.tools
    agent.getAllTools = async (...args) => {
      const tools = await getAllTools.apply(agent, args)
      return tools.map((one) =>
        one.type === 'function' && look?.type === 'function' && one.name === 'look'
          ? { ...one, invoke: look.invoke }
          : one,
      )
    }
    return runner.run(agent, 'go', { stream: true }).then(consumed)
  }
  const responses = [answer, ...['1', '2', '3', '4', '5'].map((id) => one(id, Q, 50)), answer]
  const { log, warnings } = await played({ go, responses }, true)
  expect(warnings).toEqual(['switched-off'])
  expect(log).toEqual([
    '0 look 1 a',
    '50 look 1 a',
    '70 look 2 a',
    '120 look 2 a',
    '140 look 3 a',
    '190 look 3 a',
    '260 look 4 a',
    '330 look 5 a',
  ])
})

test('if the SDK does not expose approvals, nothing is early, unless the user lists the tools that need one (R6)', async () => {
  const times = async (approval?: string[]) => {
    without(new Runner(), { look: 'read' })
    await loadInternals()
    const said: string[] = []
    const begin = performance.now()
    const log: number[] = []
    const look = tool({
      name: 'look',
      description: 'l',
      parameters: z.object({ q: z.string() }),
      execute: () => log.push(performance.now() - begin),
    })
    const model = new Script([one('1'), one('2'), answer])
    const runner = new Runner({ modelProvider: { getModel: () => model }, tracingDisabled: true })
    const going = without(
      runner,
      { look: 'read' },
      { ...(approval && { approval }), onWarning: ({ code }) => void said.push(code) },
    )
      .run(new Agent({ name: 'a', model: 's', tools: [look] }), 'go', { stream: true })
      .then(consumed)
    await vi.advanceTimersByTimeAsync(1000)
    await going
    return [log, said]
  }
  expect(await times()).toEqual([[100, 200], ['approval-unknown']])
  expect(await times([])).toEqual([[0, 100], []])
  expect(await times(['look'])).toEqual([[100, 200], []])
})

const whole = [...sealed('1'), done(requested('1'))].filter((part) => typeof part === 'object' && 'type' in part)

test('many steps leave no record, no listener and no timer (R7)', async () => {
  vi.useRealTimers()
  const model: Model = {
    getResponse: () => Promise.reject(new Error('only streams')),
    async *getStreamedResponse({ input }) {
      if (input.length > 1) yield done(text)
      else yield* whole
    },
  }
  const agent = new Agent({ name: 'a', model, tools: [look] })
  const { signal } = new AbortController()
  let joined = 0
  const onStep = ({ calls }: StepSavings) => void (joined += calls.length)
  const runner = eager(new Runner({ tracingDisabled: true }), { look: 'read' }, { onStep })
  const contexts: WeakRef<object>[] = []
  const runs = sized({ small: 25, middle: 35, whole: 50_000 })
  for (let run = 0; run < runs; run++) {
    const context = new RunContext()
    contexts.push(new WeakRef(context))
    await (await runner.run(agent, 'go', { stream: true, context, signal })).completed
  }
  expect(joined).toBe(runs)
  expect(await keptOf(() => contexts, 9)).toBeLessThan(10)
  expect(getEventListeners(signal, 'abort').length).toBeLessThan(10)
  expect(process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout')).toEqual([])
})

const changed = [[...sealed('1'), 50, done(requested('1', 'look', '{"q":"b"}'))], answer]

test('if the final response has changed the arguments of a call, the SDK’s call begins when the early one has been undone (W46)', async () => {
  const look = { effect: 'reversible' as const, compensate: () => sleep(30) }
  expect(await executed({ responses: changed, effects: { look } })).toEqual([
    ['50 look 1 b'],
    ['0 look 1 a', '80 look 1 b'],
  ])
})

test('if that takes longer than `hold`, the SDK’s call fails, and its tool is not called (W46)', async () => {
  const look = { effect: 'reversible' as const, compensate: () => sleep(200) }
  const { log, result } = await played({ responses: changed, effects: { look }, settings: { hold: 100 } }, true)
  expect(log).toEqual(['0 look 1 a'])
  expect(result).toMatchObject({ threw: expect.stringContaining('its effect may have happened') })
})
