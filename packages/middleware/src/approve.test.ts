import { call, collect, fail, respond, type ScriptStep, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  type Agent,
  AgentError,
  type AgentOptions,
  type AgentResult,
  type AgentRun,
  AnswerError,
  agentTool,
  CheckpointMismatchError,
  createAgent,
  interrupt,
  type Json,
  type Middleware,
  map,
  type Tool,
  textOf,
  tool,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type ApproveOptions, approve, isPendingApproval } from './approve.ts'
import { retryModel } from './retry-model.ts'
import { retryTool } from './retry-tool.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Given extends Partial<ApproveOptions> {
  readonly execute?: (n: number, answers: readonly Json[]) => unknown
  readonly effect?: 'read' | 'external'
  readonly toolConcurrency?: number
  readonly telemetry?: AgentOptions['telemetry']
  readonly before?: readonly Middleware[]
  readonly after?: readonly Middleware[]
}

/** An agent with the tools `send`, which needs approval, and `look`, and the inputs they were called with. */
function sender(steps: readonly (readonly ScriptStep[])[], given: Given = {}) {
  const {
    execute = () => 'Sent.',
    effect = 'external',
    before = [],
    after = [],
    toolConcurrency,
    telemetry,
    ...options
  } = given
  const ran: string[] = []
  const make = (name: string) =>
    tool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      ...(name === 'send' && { aliases: { names: ['mail'] } }),
      effect: effect as 'read',
      execute({ n }, { answers }) {
        ran.push(`${name} ${n}`)
        return execute(n, answers)
      },
    }) as Tool
  const agent = createAgent({
    model: scriptedModel([...steps.map((calls) => respond(...calls)), respond(say('Done.'))]),
    tools: [make('send'), make('look')],
    ...(toolConcurrency && { toolConcurrency }),
    ...(telemetry && { telemetry }),
    middleware: [...before, approve({ tools: ['send'], ...options }), ...after],
  })
  return { agent, ran }
}

const answered = (agent: Agent, { checkpoint, interrupts = [] }: AgentResult, ...answers: Json[]) =>
  agent.resume(
    JSON.parse(JSON.stringify(checkpoint)),
    Object.fromEntries(answers.map((answer, index) => [interrupts[index]?.id ?? '', answer])),
  ).result

const resultsOf = ({ messages }: AgentResult) =>
  messages.flatMap((message) => (message.role === 'tool' ? [(message.isError ? 'error: ' : '') + textOf(message)] : []))

test('without ask all waiting calls of a step ask at once, and the others run (N22)', async () => {
  const { agent, ran } = sender([
    [call('send', { n: 1 }, { id: 'a' }), call('look', { n: 2 }, { id: 'b' }), call('send', { n: 3 }, { id: 'c' })],
  ])
  const first = await agent.run('Go')
  expect(first.status).toBe('interrupted')
  expect(first.interrupts?.map(({ payload }) => payload)).toEqual([
    { tool: 'send', input: { n: 1 }, callId: 'a', decisions: ['allow', 'deny', 'edit'] },
    { tool: 'send', input: { n: 3 }, callId: 'c', decisions: ['allow', 'deny', 'edit'] },
  ])
  expect(ran).toEqual(['look 2'])
  const second = await answered(agent, first, { decision: 'allow' })
  expect(second.interrupts?.map(({ id }) => id)).toEqual([first.interrupts?.[1]?.id])
  const last = await answered(agent, second, { decision: 'allow' })
  expect(ran).toEqual(['look 2', 'send 1', 'send 3'])
  expect([last.text, ...resultsOf(last)]).toEqual(['Done.', 'Sent.', 'Sent.', 'Sent.'])
})

test('with one slot each waiting call also asks once, and the order is kept (N22, A22)', async () => {
  const calls = [call('look', { n: 0 }), call('send', { n: 1 }), call('look', { n: 2 }), call('send', { n: 3 })]
  const { agent, ran } = sender([calls], { toolConcurrency: 1 })
  const first = await agent.run('Go')
  expect(first.interrupts?.map(({ payload }) => (payload as { input: unknown }).input)).toEqual([{ n: 1 }, { n: 3 }])
  expect(ran).toEqual(['look 0'])
  const allow = { decision: 'allow' }
  expect((await answered(agent, first, allow, allow)).text).toBe('Done.')
  expect(ran).toEqual(['look 0', 'send 1', 'look 2', 'send 3'])
})

test('allow runs it, deny with a reason is an error result and not run, edit runs with the new input if the schema accepts it, and the model reads it (N23, W5)', async () => {
  const steps = [[1, 2, 3, 4, 5].map((n) => call('send', { n }))]
  const approvals = [
    { decision: 'allow' },
    { decision: 'deny', reason: 'too late' },
    { decision: 'deny' },
    { decision: 'edit', input: { n: 40 } },
    { decision: 'edit', input: { n: 'five' } },
  ] as const
  const results = [
    'Sent.',
    'error: Not run: the call was denied: too late',
    'error: Not run: the call was denied: no reason was given',
    'This call ran with another input: {"n":40}.\nSent.',
    expect.stringMatching(/^error: invalid input for send: n: /) as string,
  ]
  const asking = sender(steps, {
    ask: ({ input }) => approvals[(input as { n: number }).n - 1] ?? { decision: 'allow' },
  })
  const result = await asking.agent.run('Go')
  expect(resultsOf(result)).toEqual(results)
  expect(asking.ran).toEqual(['send 1', 'send 40'])

  const interrupting = sender(steps)
  const first = await interrupting.agent.run('Go')
  expect(resultsOf(await answered(interrupting.agent, first, ...approvals))).toEqual(results)
  expect(interrupting.ran).toEqual(['send 1', 'send 40'])
})

test('an answer applies whatever needs approval when it arrives, and without approve the run is not resumed (N23, L18)', async () => {
  const deny: Json = { decision: 'deny', reason: 'too late' }
  for (const tools of [['look'], () => false]) {
    const asked = await sender([[call('send', { n: 1 })]]).agent.run('Go')
    const other = sender([[]], { tools })
    expect(resultsOf(await answered(other.agent, asked, deny))).toEqual([
      'error: Not run: the call was denied: too late',
    ])
    expect(other.ran).toEqual([])
  }
  const { agent, ran } = sender([[call('send', { n: 1 })]])
  const asked = await agent.run('Go')
  const resumed = answered(createAgent({ model: scriptedModel([]) }), asked, deny)
  await expect(resumed).rejects.toThrow(CheckpointMismatchError)
  await expect(resumed).rejects.toThrow('has no middleware approve, which asked a question')
  expect(ran).toEqual([])
})

const NO_APPROVALS = [
  null,
  true,
  'allow',
  [],
  {},
  { decision: 'yes' },
  { decision: ['allow'] },
  { decision: 'deny', reason: 1 },
  { decision: 'edit' },
] as const

test('a predicate or ask that throws, or an invalid answer, lets no call through (N24)', async () => {
  const steps = [[call('send', { n: 1 })]]
  const broken = () => {
    throw new Error('nobody there')
  }
  for (const given of [
    { tools: broken },
    { ask: broken },
    { tools: async () => broken(), ask: () => ({ decision: 'allow' }) },
  ]) {
    const { agent, ran } = sender(steps, given as Given)
    const result = await agent.run('Go')
    expect(resultsOf(result)).toEqual(['error: Not run: the request for approval of send failed.'])
    const message = 'the request for approval of send failed: nobody there'
    expect(result.warnings).toEqual([{ code: 'approval-failed', message, source: 'approve' }])
    expect(ran).toEqual([])
  }
  for (const answer of NO_APPROVALS) {
    const { agent, ran } = sender(steps, { ask: () => answer as never })
    const text = ['error: Not run: the answer to the request for approval of send is invalid.']
    expect(resultsOf(await agent.run('Go'))).toEqual(text)
    expect(ran).toEqual([])
  }
})

test('a resume with an invalid answer is refused before anything runs, and the question stays open (P17, N24)', async () => {
  for (const answer of NO_APPROVALS) {
    const { agent, ran } = sender([[call('send', { n: 1 }), call('look', { n: 2 }), call('send', { n: 3 })]])
    const first = await agent.run('Go')
    const ids = first.interrupts?.map(({ id }) => id) ?? []
    const resumed = answered(agent, first, { decision: 'allow' }, answer)
    await expect(resumed).rejects.toBeInstanceOf(AnswerError)
    await expect(resumed).rejects.toMatchObject({
      id: ids[1],
      message: expect.stringMatching(
        /^middleware approve, asking in call \w+ of \w+, does not accept the answer to \w+: must be \{ decision: 'allow' \}, /,
      ) as string,
    })
    expect(ran).toEqual(['look 2'])
    const last = await answered(agent, first, { decision: 'allow' }, { decision: 'deny' })
    expect(resultsOf(last)).toEqual(['Sent.', 'Sent.', 'error: Not run: the call was denied: no reason was given'])
    expect(ran).toEqual(['look 2', 'send 1'])
  }
})

test('inside an agent that a tool runs it is refused as well, before the calls of either continue (P17, L9)', async () => {
  const { agent: inner, ran } = sender([[call('send', { n: 1 })]])
  const model = scriptedModel([
    respond(call('sender', { request: 'Go' }), call('order', { n: 2 })),
    respond(say('Done.')),
  ])
  const order = tool({
    name: 'order',
    description: 'o',
    input: z.object({ n: z.number() }),
    execute: () => ran.push('order'),
  })
  const agent = createAgent({
    model,
    tools: [agentTool(inner, { name: 'sender', description: 's' }) as Tool, order as Tool],
    middleware: [approve({ tools: ['order'] })],
  })
  const first = await agent.run('Go')
  expect(first.interrupts?.filter(isPendingApproval).map(({ payload }) => payload.tool)).toEqual(['send', 'order'])
  for (const answers of [
    [true, { decision: 'allow' }],
    [{ decision: 'allow' }, true],
  ])
    await expect(answered(agent, first, ...answers)).rejects.toBeInstanceOf(AnswerError)
  expect(ran).toEqual([])
  const last = await answered(agent, first, { decision: 'allow' }, { decision: 'allow' })
  expect([last.text, ran.toSorted()]).toEqual(['Done.', ['order', 'send 1']])
})

test('its questions are distinguished from those of others, which have other payloads (P17)', async () => {
  const execute: Given['execute'] = (_, answers) => (answers.length === 0 ? interrupt({ tool: 'send' }) : 'Sent.')
  const { agent } = sender([[call('send', { n: 1 }, { id: 'a' }), call('look', { n: 2 })]], { execute })
  const { interrupts = [] } = await agent.run('Go')
  expect(interrupts).toHaveLength(2)
  expect(interrupts.map(isPendingApproval)).toEqual([true, false])
})

test('an error of ask reaches an outer wrap as the cause of an ApprovalError, and one that ends a run ends it (N24)', async () => {
  const thrown: unknown[] = []
  const seeing: Middleware = {
    name: 'seeing',
    async *wrapToolCall(given, next) {
      try {
        return yield* next(given)
      } catch (error) {
        thrown.push(error)
        throw error
      }
    },
  }
  const asker = (cause: Error) => {
    const ask = () => Promise.reject(cause)
    return sender([[call('send', { n: 1 })]], { ask, before: [seeing] })
  }
  const offline = new TypeError('offline')
  await asker(offline).agent.run('Go')
  const failed = { name: 'ApprovalError', tool: 'send', cause: offline }
  expect(thrown).toEqual([expect.objectContaining(failed)])
  const stop = new AgentError('closed')
  const { agent, ran } = asker(stop)
  await expect(agent.run('Go')).rejects.toBe(stop)
  expect(ran).toEqual([])
})

test('a failed request for approval is not a warning if the call was early and is discarded (N24, O10)', async () => {
  const early: Middleware = {
    name: 'early',
    async *wrapModel(request, next, run) {
      const flow = map(next(request), (event) => {
        if (event.type === 'tool-call') run.callTool(event.call).catch(() => undefined)
        return event
      })
      return yield* flow
    },
  }
  const agent = createAgent({
    model: scriptedModel([respond(call('send', { n: 1 }), wait(100), fail()), respond(say('Done.'))]),
    tools: [tool({ name: 'send', description: 'Sends.', input: z.object({ n: z.number() }), execute: () => 'Sent.' })],
    middleware: [
      retryModel({ random: () => 0 }),
      early,
      approve({ tools: () => Promise.reject(new Error('nobody there')) }),
    ],
  })
  expect((await played(agent.run('Go'))).warnings).toEqual([])
})

test('only false lets a call run without approval: a predicate without a return value does not (N24)', async () => {
  const ask = vi.fn(() => ({ decision: 'deny' }) as const)
  for (const [says, ran] of [
    [false, ['send 1']],
    [true, []],
    [undefined, []],
    [0, []],
  ] as const) {
    const one = sender([[call('send', { n: 1 })]], { ask, tools: () => says as boolean })
    await one.agent.run('Go')
    expect(one.ran).toEqual(ran)
  }
  expect(ask).toHaveBeenCalledTimes(3)
})

test('a listed name that no tool has ends the run before its first model call; an inner middleware may add the tool (N22, W26)', async () => {
  const adding: Middleware = {
    name: 'adding',
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, { ...(setup.tools[1] as Tool), name: 'late' }] }),
  }
  const tools = ['send', 'late']
  const calls = [[call('send', { n: 1 })], [call('look', { n: 2 })]]
  const { agent, ran } = sender(calls, { tools, after: [adding] })
  expect((await answered(agent, await agent.run('Go'), { decision: 'allow' })).warnings).toEqual([])
  expect(ran).toEqual(['send 1', 'look 2'])
  const missing = sender(calls, { tools })
  await expect(missing.agent.run('Go')).rejects.toMatchObject({ name: 'ConfigError', option: 'tools' })
  expect(missing.ran).toEqual([])
})

test('no open call of a resume runs past a listed name that no tool has (W26)', async () => {
  const execute = (_: number, answers: readonly Json[]) => answers[0] ?? Promise.reject(interrupt('Sure?'))
  const first = sender([[call('send', { n: 1 }), call('send', { n: 2 })]], { tools: () => false, execute }).agent
  const { checkpoint, interrupts = [] } = await first.run('Go')
  const { agent, ran } = sender([], { tools: ['sendd'], execute })
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))
  await expect(agent.resume(checkpoint ?? '', answers).result).rejects.toThrow(
    'tools: sendd is not the name of a tool; did you mean send?',
  )
  expect(ran).toEqual([])
})

test('an alias stands for its tool, whichever name the model uses (N22, M8)', async () => {
  const asked: string[] = []
  const ask: Given['ask'] = ({ tool, input }) => {
    asked.push(`${tool} ${JSON.stringify(input)}`)
    return { decision: 'deny' }
  }
  const { agent, ran } = sender([[call('send', { n: 1 }), call('mail', { n: 2 }), call('look', { n: 3 })]], {
    ask,
    tools: ['mail'],
  })
  expect((await agent.run('Go')).warnings).toEqual([])
  expect([asked, ran]).toEqual([['send {"n":1}', 'send {"n":2}'], ['look 3']])
})

test('unknown tools and invalid input cause no question (N24)', async () => {
  const ask = vi.fn()
  const { agent, ran } = sender([[call('nobody', { n: 1 }), call('send', { n: 'one' }), call('send', '{"n":')]], {
    ask,
    tools: ['send', 'nobody'],
    mayBeMissing: true,
  })
  expect(resultsOf(await agent.run('Go'))).toEqual([
    expect.stringContaining('nobody'),
    expect.stringMatching(/^error: invalid input for send: n: /),
    expect.stringMatching(/^error: invalid input for send: /),
  ])
  expect(ask).not.toHaveBeenCalled()
  expect(ran).toEqual([])
})

test('an input that is not JSON cannot be shown: the call gets an error result, and the run continues (N24)', async () => {
  const dated: Middleware = {
    name: 'dated',
    wrapToolCall: (call, next) => next({ ...call, input: { n: 1, when: new Date(0) } }),
  }
  const { agent, ran } = sender([[call('send', { n: 1 })]], { tools: ['send'], before: [dated] })
  expect(resultsOf(await agent.run('Go'))).toEqual([expect.stringContaining('error: ')])
  expect(ran).toEqual([])
})

test('remember: run covers the same tool with canonically equal input only, also after resume (N25)', async () => {
  const steps = [
    [call('send', '{"n":1}')],
    [call('send', '{ "n": 1.0 }'), call('send', { n: 2 })],
    [call('send', { n: 1 }), call('look', { n: 1 })],
  ]
  const asked: unknown[] = []
  for (const [remember, expected] of [
    ['run', ['send 1', 'send 2', 'look 1']],
    ['never', ['send 1', 'send 1', 'send 2', 'send 1', 'look 1']],
  ] as const) {
    const { agent } = sender(steps, { tools: ['send', 'look'], remember })
    asked.length = 0
    let result = await agent.run('Go')
    while (result.interrupts) {
      const payloads = result.interrupts.map(({ payload }) => payload as { tool: string; input: { n: number } })
      asked.push(...payloads.map(({ tool, input }) => `${tool} ${input.n}`))
      result = await answered(agent, result, ...payloads.map(() => ({ decision: 'allow' })))
    }
    expect(asked).toEqual(expected)
    expect(result.text).toBe('Done.')
  }
})

test('denials and edits are not remembered, nor are calls that another run allowed (N25)', async () => {
  const ask = vi.fn<NonNullable<ApproveOptions['ask']>>()
  ask.mockReturnValueOnce({ decision: 'deny' })
  ask.mockReturnValueOnce({ decision: 'edit', input: { n: 2 } })
  ask.mockReturnValue({ decision: 'allow' })
  const again = [call('send', { n: 1 })]
  const { agent, ran } = sender([again, again, again, again], { ask, remember: 'run' })
  await agent.run('Go')
  expect(ran).toEqual(['send 2', 'send 1', 'send 1'])
  expect(ask).toHaveBeenCalledTimes(3)
  const other = sender([again], { ask, remember: 'run' })
  await other.agent.run('Go')
  expect(ask).toHaveBeenCalledTimes(4)
})

test('a tool that interrupts by itself is not approved a second time, no matter who approved it (O10, L7)', async () => {
  const ask = vi.fn(() => ({ decision: 'allow' }) as const)
  const execute: Given['execute'] = (_, answers) => {
    if (answers.length === 0) throw interrupt('Which?')
    return `Sent ${JSON.stringify(answers)}.`
  }
  const asking = sender([[call('send', { n: 1 })]], { ask, execute })
  const first = await asking.agent.run('Go')
  expect(first.interrupts).toMatchObject([{ payload: 'Which?' }])
  expect(resultsOf(await answered(asking.agent, first, 'This.'))).toEqual(['Sent ["This."].'])
  expect(ask).toHaveBeenCalledTimes(1)

  const interrupting = sender([[call('send', { n: 1 })]], { execute })
  const second = await answered(interrupting.agent, await interrupting.agent.run('Go'), { decision: 'allow' })
  expect(second.interrupts).toMatchObject([{ payload: 'Which?' }])
  expect(resultsOf(await answered(interrupting.agent, second, 'This.'))).toEqual(['Sent ["This."].'])
})

test('a call that was allowed during a cancel needs no approval again after the resume (O10, K5)', async () => {
  const ask = vi.fn(async () => {
    await new Promise((resolve) => setTimeout(resolve, 500))
    return { decision: 'allow' } as const
  })
  const { agent, ran } = sender([[call('send', { n: 1 })]], { ask })
  const run = agent.stream('Go')
  setTimeout(() => void run.cancel({ at: 'after-model' }), 100)
  const cancelled = await played(run.result)
  expect([cancelled.status, ran]).toEqual(['cancelled', []])
  expect(resultsOf(await played(answered(agent, cancelled)))).toEqual(['Sent.'])
  expect([ran, ask.mock.calls.length]).toEqual([['send 1'], 1])
})

test('it asks once for all attempts, and inside retryTool it is refused (O19, O20)', async () => {
  const ask = vi.fn(() => ({ decision: 'allow' }) as const)
  let failures = 2
  const execute = () => {
    if (failures-- > 0) throw new Error('not yet')
    return 'Sent.'
  }
  const after = [retryTool({ tools: ['send'], random: () => 0 })]
  const { agent, ran } = sender([[call('send', { n: 1 })]], { ask, execute, after })
  expect(resultsOf(await played(agent.run('Go')))).toEqual(['Sent.'])
  expect(ran).toHaveLength(3)
  expect(ask).toHaveBeenCalledTimes(1)
  expect(() => sender([], { ask, before: after })).toThrow(/approve.*retry-tool/)
})

test('the allowed call is the one that runs: an outer wrap has changed the input before the question (O19)', async () => {
  const asked: unknown[] = []
  const doubling: Middleware = {
    name: 'doubling',
    async *wrapToolCall(call, next) {
      return yield* next({ ...call, input: { n: 2 * (call.input as { n: number }).n } })
    },
  }
  const ask: Given['ask'] = ({ input }) => {
    asked.push(input)
    return { decision: 'allow' }
  }
  const { agent, ran } = sender([[call('send', { n: 4 })]], { ask, before: [doubling] })
  await agent.run('Go')
  expect([asked, ran]).toEqual([[{ n: 8 }], ['send 8']])
})

test('the signal of a question aborts with the run, and a call allowed after that does not run (N22)', async () => {
  const controller = new AbortController()
  const ask: Given['ask'] = (_, { signal }) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve({ decision: 'allow' })))
  const { agent, ran } = sender([[call('send', { n: 1 })]], { ask })
  setTimeout(() => controller.abort(), 100)
  await expect(played(agent.run('Go', { signal: controller.signal }))).rejects.toMatchObject({ name: 'AbortError' })
  expect(ran).toEqual([])
})

test('the span of a call that needed approval shows what it waited for (N22, H28)', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const ask = () => ({ decision: 'allow' }) as const
  const steps = [[call('send', { n: 1 }), call('look', { n: 2 })]]
  await played(sender(steps, { ask, telemetry: { tracerProvider } }).agent.run('Go'))
  const reasons = exporter
    .getFinishedSpans()
    .filter(({ name }) => name.startsWith('execute_tool'))
    .map(({ name, attributes }) => `${name}: ${String(attributes['meanwhile.dispatch.deferral_reason'])}`)
  expect(reasons.toSorted()).toEqual(['execute_tool look: undefined', 'execute_tool send: approval'])
})

test('invalid options are a ConfigError (A2)', () => {
  for (const options of [undefined, { tools: 'send' }])
    expect(() => approve(options as never)).toThrow(expect.objectContaining({ option: 'tools' }))
  expect(() => approve({ tools: [], remember: 'always' as never })).toThrow(
    expect.objectContaining({ option: 'remember' }),
  )
  for (const decisions of [[], ['yes'], 'allow', ['allow', 1]])
    expect(() => approve({ tools: [], decisions } as never)).toThrow(expect.objectContaining({ option: 'decisions' }))
})

test('a tool not in the list may start with the members it needs, and a listed one asks with its whole input (Q6)', async () => {
  const make = (name: string, aliases: readonly string[] = []) =>
    tool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      effect: 'read',
      needs: [],
      aliases: { names: aliases },
      execute: async (_, { rest }) => `${name} ${(await rest).n}`,
    }) as Tool
  const tools = [make('send', ['mail']), make('post', ['tweet']), make('look')]
  const run = async (given: ApproveOptions) => {
    const model = scriptedModel([respond(call('send', { n: 1 }), call('post', { n: 2 }), call('look', { n: 3 }))])
    const result = await played(createAgent({ model, tools, middleware: [approve(given)] }).run('Go'))
    const early = model.requests[0]?.tools.flatMap(({ name, needs }) => (needs ? name : []))
    return [early, result.interrupts?.map(({ payload }) => payload)]
  }
  const asked = (tool: string, n: number) => ({
    tool,
    input: { n },
    callId: expect.any(String),
    decisions: ['allow', 'deny', 'edit'],
  })
  expect(await run({ tools: ['send', 'tweet'] })).toEqual([['look'], [asked('send', 1), asked('post', 2)]])
  expect(await run({ tools: ['look'] })).toEqual([['send', 'post'], [asked('look', 3)]])
  // It is unknown in advance which calls a function selects.
  expect(await run({ tools: ({ name }) => name === 'look' })).toEqual([[], [asked('look', 3)]])
})

test('a question has the form of its answer as JSON Schema: approvals match it, and nothing else (N24, CC4)', async () => {
  const { agent } = sender([[call('send', { n: 1 })]])
  const { interrupts } = await agent.run('Go')
  const form = z.fromJSONSchema(interrupts?.[0]?.answerSchema ?? {})
  const approvals = [
    { decision: 'allow' },
    { decision: 'deny' },
    { decision: 'deny', reason: 'No.' },
    { decision: 'edit', input: null },
  ]
  const fits = (answer: unknown) => form.safeParse(answer).success
  expect(approvals.map(fits)).toEqual(approvals.map(() => true))
  expect(NO_APPROVALS.map(fits)).toEqual(NO_APPROVALS.map(() => false))
})

test('nobody is asked about a call of a tool that the request did not offer (W2)', async () => {
  const hiding: Middleware = {
    name: 'hiding',
    wrapModel: (request, next) => next({ ...request, tools: request.tools.filter(({ name }) => name !== 'send') }),
  }
  const { agent, ran } = sender([[call('send', { n: 1 })]], { after: [hiding] })
  const result = await agent.run('Go')
  expect(resultsOf(result)).toEqual(['error: Not run: send is not available in this step.'])
  expect([result.status, ran]).toEqual(['completed', []])
})

/** What an outer agent with `approve({ tools })` warns of, or the error that it ends with, if `pay` belongs to an agent inside. */
async function outside(
  tools: readonly string[],
  { own, asks, deep }: { readonly own: boolean; readonly asks: boolean | Middleware; readonly deep: boolean },
) {
  const make = (name: string) =>
    tool({
      name,
      description: name,
      input: z.object({}),
      aliases: { names: ['send'] },
      effect: 'read',
      execute: () => name,
    }) as Tool
  const clerk = createAgent({
    name: 'clerk',
    description: 'Pays.',
    model: scriptedModel([]),
    tools: [make('pay')],
    middleware: asks === true ? [approve({ tools: ['pay'] })] : asks ? [asks] : [],
  })
  const manager = createAgent({
    name: 'manager',
    description: 'Asks the clerk.',
    model: scriptedModel([]),
    tools: [agentTool(clerk) as Tool],
  })
  const agent = createAgent({
    model: scriptedModel([respond(say('Done.'))]),
    tools: [agentTool(deep ? manager : clerk) as Tool, ...(own ? [make('pay')] : [])],
    middleware: [approve({ tools })],
  })
  const { warnings } = await agent.run('Go')
  return warnings.map(({ code, message }) => `${code}: ${message}`)
}

const INSIDE =
  'approve-inside: the agent clerk, which runs inside a call, has its own tool pay and runs it without a question; agent.with({ middleware: [approve(…), ...agent.middleware] }) makes it ask'

test.each([false, true])('a listed tool that an agent inside has as well is named in a warning (W54)', async (deep) => {
  expect(await outside(['pay'], { own: true, asks: false, deep })).toEqual([INSIDE])
  // An alias means its tool.
  expect(await outside(['send'], { own: true, asks: false, deep })).toEqual([
    INSIDE.replace('tool pay', 'tool send'),
    INSIDE,
  ])
  expect(await outside(['pay'], { own: true, asks: true, deep })).toEqual([])
})

test('an agent inside asks with a copy of approve that has another name, and not with another middleware of its name (W54)', async () => {
  const given = { own: true, deep: false }
  const copy = { ...approve({ tools: ['pay'] }), name: 'approve-payments' }
  expect(await outside(['pay'], { ...given, asks: copy })).toEqual([])
  expect(await outside(['pay'], { ...given, asks: { name: 'approve' } })).toEqual([INSIDE])
})

test.each([false, true])(
  'a listed tool that only an agent inside has is a ConfigError that says where approve belongs (W54, W26)',
  async (deep) => {
    const refused = outside(['pay'], { own: false, asks: false, deep })
    await expect(refused).rejects.toMatchObject({ name: 'ConfigError', option: 'tools' })
    await expect(refused).rejects.toThrow(
      'pay is a tool of the agent clerk, which runs inside a call, and not of this run: give approve to that agent, by agent.with({ middleware: [approve(…), ...agent.middleware] })',
    )
  },
)

test('an agent inside with approve of its own asks for its call (W54)', async () => {
  const paid: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string() }),
    execute: ({ to }) => void paid.push(to),
  }) as Tool
  const clerk = createAgent({
    name: 'clerk',
    description: 'Pays.',
    model: scriptedModel([respond(call('pay', { to: 'ada' })), respond(say('Paid.'))]),
    tools: [pay],
  })
  const asking = clerk.with({ middleware: [approve({ tools: ['pay'] }), ...clerk.middleware] })
  const agent = createAgent({
    model: scriptedModel([respond(call('clerk', { request: 'Pay Ada.' })), respond(say('Done.'))]),
    tools: [agentTool(asking) as Tool],
  })
  const first = await agent.run('Pay Ada.')
  expect([first.status, first.interrupts?.map(isPendingApproval), paid]).toEqual(['interrupted', [true], []])
  const last = await answered(agent, first, { decision: 'allow' })
  expect([last.status, paid]).toEqual(['completed', ['ada']])
})

test('decisions narrows the answers of a resume and of ask, and the question says what is left (W53)', async () => {
  const steps = [[call('send', { n: 1 }, { id: 'a' })]]
  const { agent, ran } = sender(steps, { decisions: ['allow', 'deny'] })
  const first = await agent.run('Go')
  expect(first.interrupts?.[0]?.payload).toMatchObject({ decisions: ['allow', 'deny'] })
  const edit = { decision: 'edit', input: { n: 2 } }
  await expect(answered(agent, first, edit)).rejects.toMatchObject({
    name: 'AnswerError',
    message: expect.stringContaining("must be { decision: 'allow' } or { decision: 'deny', reason?: '…' }"),
  })
  expect(z.fromJSONSchema(first.interrupts?.[0]?.answerSchema ?? {}).safeParse(edit).success).toBe(false)
  expect((await answered(agent, first, { decision: 'allow' })).text).toBe('Done.')
  expect(ran).toEqual(['send 1'])
  const asked = sender(steps, { decisions: ['allow'], ask: () => ({ decision: 'deny' }) })
  const refused = 'error: Not run: the answer to the request for approval of send is invalid.'
  expect(resultsOf(await asked.agent.run('Go'))).toEqual([refused])
  expect(asked.ran).toEqual([])
})

test.for([
  [
    { decision: 'allow', by: 'ada' },
    { decision: 'allow', input: { n: 1 }, by: 'ada' },
  ],
  [
    { decision: 'edit', input: { n: 2 } },
    { decision: 'edit', input: { n: 2 } },
  ],
  [
    { decision: 'deny', reason: 'No.', by: 'ada' },
    { decision: 'deny', reason: 'No.', by: 'ada' },
  ],
  [{ decision: 'deny' }, { decision: 'deny' }],
  [
    { decision: 'edit', input: { n: 'two' }, by: 'ada' },
    {
      decision: 'edit',
      reason: 'invalid input for send: n: Invalid input: expected number, received string',
      by: 'ada',
    },
  ],
  [
    { decision: 'edit', input: { n: 2, to: 'eve' }, by: 'ada' },
    {
      decision: 'edit',
      reason: 'Not run: send would get another input than the edited one: {"n":2}',
      by: 'ada',
    },
  ],
] as const)('the decision %j is an event with the data %j, from ask and from a resume (W53)', async (given) => {
  const [answer, data] = given
  const steps = [[call('send', { n: 1 }, { id: 'a' })]]
  const event = { type: 'custom', source: 'approve', name: 'approval', callId: 'a', toolName: 'send', data }
  const told = async (run: AgentRun) => (await collect(run)).events.filter(({ type }) => type === 'custom')
  expect(await told(sender(steps, { ask: () => answer }).agent.stream('Go'))).toEqual([expect.objectContaining(event)])
  const { agent } = sender(steps)
  const { checkpoint, interrupts = [] } = await agent.run('Go')
  const resumed = agent.resume(checkpoint as never, { [interrupts[0]?.id ?? '']: answer })
  expect(await told(resumed)).toEqual([expect.objectContaining(event)])
})

test('the span of an approved call has the decision, and who decided only with captureContent (W53)', async () => {
  const mask = (_: string, value: unknown) => (value === 'ada' ? '[user]' : value)
  const broken = () => {
    throw new Error('no')
  }
  for (const [captureContent, by] of [
    [false, undefined],
    [true, 'ada'],
    [mask, '[user]'],
    [broken, undefined],
  ] as const) {
    const exporter = new InMemorySpanExporter()
    const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
    const ask = () => ({ decision: 'edit', input: { n: 2 }, by: 'ada' }) as const
    const { agent } = sender([[call('send', { n: 1 })]], { ask, telemetry: { tracerProvider, captureContent } })
    await agent.run('Go')
    const span = exporter.getFinishedSpans().find(({ name }) => name === 'execute_tool send')
    expect(span?.attributes['meanwhile.approval.decision']).toBe('edit')
    expect(span?.attributes['meanwhile.approval.by']).toBe(by)
  }
})
