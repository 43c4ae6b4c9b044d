import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  type AgentOptions,
  type AgentResult,
  AnswerError,
  type Answers,
  type Askers,
  agentTool,
  type Checkpoint,
  ConfigError,
  checkAnswers,
  createAgent,
  interrupt,
  type Json,
  type Middleware,
  memoryStore,
  type Run,
  type Tool,
  tool,
} from '../index.ts'

let did: string[] = []
beforeEach(() => {
  did = []
})

const answer = z.object({ chosen: z.string() })
const input = z.object({})

const look = tool({
  name: 'look',
  description: 'l',
  input,
  effect: 'read',
  execute: () => void did.push('look'),
}) as Tool

/** Asks a question, and returns the answer. */
const ask = tool({
  name: 'ask',
  description: 'a',
  input,
  answer,
  execute: (_, { answers }) => {
    if (answers.length === 0) throw interrupt('Which?')
    did.push(`ask ${JSON.stringify(answers)}`)
    return 'asked'
  },
}) as Tool

const choose = tool({ name: 'choose', description: 'c', input, output: answer }) as Tool

const slowly: Tool = {
  ...choose,
  name: 'slowly',
  output: answer.refine(() => new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 1))),
}

function asking(hook: string, more: Partial<Middleware> = {}): Middleware {
  return { name: hook, answer, ...more }
}

function asksIn({ answers }: Run, place: string): void {
  if (answers.length === 0) throw interrupt('Which?')
  did.push(`${place} ${JSON.stringify(answers)}`)
}

const lists = { beforeModel: true, afterModel: true, beforeFinalAnswer: true } as const

const askers: readonly (readonly [string, Partial<AgentOptions>])[] = [
  ...Object.keys(lists).map(
    (hook) =>
      [`a ${hook}`, { middleware: [asking(hook, { [hook]: (_: unknown, run: Run) => asksIn(run, hook) })] }] as const,
  ),
  [
    'a wrapModel',
    {
      middleware: [
        asking('wrapModel', {
          async *wrapModel(request, next, run) {
            asksIn(run, 'wrapModel')
            return yield* next(request)
          },
        }),
      ],
    },
  ],
  [
    'a wrapToolCall',
    {
      middleware: [
        asking('wrapToolCall', {
          async *wrapToolCall(call, next, run) {
            asksIn(run, 'wrapToolCall')
            return yield* next(call)
          },
        }),
      ],
    },
  ],
  ['a tool', { tools: [ask, look] }],
  ['a tool that the caller executes', { tools: [choose, look] }],
  ['a tool whose schema takes its time', { tools: [slowly, look] }],
  [
    'a tool that beforeAgent adds',
    {
      tools: [look],
      middleware: [{ name: 'adds', beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, choose] }) }],
    },
  ],
  [
    'a tool that a tool calls',
    {
      tools: [
        look,
        ask,
        tool({
          name: 'outer',
          description: 'o',
          input,
          execute: async (_, { run, callId }) =>
            (await run?.callTool({ type: 'tool-call', id: `${callId}/1`, name: 'ask', input: {} }))?.output,
        }) as Tool,
      ],
    },
  ],
]

/** An agent with a read tool and these options, inside as many agents as `depth`. */
function agentOf(options: Partial<AgentOptions>, depth: number): Agent {
  const { tools = [look], middleware = [] } = options
  const names = [...tools.map(({ name }) => name), ...(middleware[0]?.name === 'adds' ? ['choose'] : [])]
  const called = names.includes('outer') ? ['look', 'outer'] : names
  const model = scriptedModel([respond(...called.map((name) => call(name))), respond(say('Done.'))])
  const agent = createAgent({ model, name: 'worker', description: 'w', tools, middleware })
  if (depth === 0) return agent
  return [...Array(depth).keys()].reduce((inner) => {
    const outer = scriptedModel([respond(call('work', { request: 'Go' }), call('look')), respond(say('Done.'))])
    const work = { ...agentTool(inner), name: 'work' } as Tool
    return createAgent({ model: outer, name: 'boss', description: 'b', tools: [work, look] })
  }, agent)
}

function answered({ interrupts = [] }: AgentResult, given: Json): Record<string, Json> {
  return Object.fromEntries(interrupts.map(({ id }) => [id, given]))
}

test.for(askers.flatMap(([who, options]) => [0, 1, 2].map((depth) => [who, depth, options] as const)))(
  'an answer that does not have the form that %s requires is refused %d agents deep: nothing runs, and the question stays open (P17)',
  async ([, depth, options]) => {
    const agent = agentOf(options, depth)
    const first = await agent.run('Go')
    const before = [...did]
    const checkpoint = JSON.parse(JSON.stringify(first.checkpoint)) as Checkpoint
    const refused = agent.resume(checkpoint, answered(first, { chosen: 3 }))
    const error: unknown = await refused.result.catch((error: unknown) => error)
    expect(error).toBeInstanceOf(AnswerError)
    expect(error).toMatchObject({
      id: first.interrupts?.[0]?.id,
      issues: [{ path: 'chosen', message: expect.any(String) as string }],
    })
    expect(did).toEqual(before)
    let last = await agent.resume(checkpoint, answered(first, { chosen: 'b' })).result
    // A hook asks in each step.
    while (last.status === 'interrupted') {
      last = await agent.resume(last.checkpoint, answered(last, { chosen: 'b' })).result
    }
    expect(last).toMatchObject({ status: 'completed', text: 'Done.' })
  },
)

test('no hook, model or tool sees a resume with a wrong answer, and the stored checkpoint stays as it is (P17, L5)', async () => {
  const checkpoints = memoryStore()
  const seen: string[] = []
  const all: Middleware = {
    name: 'all',
    answer,
    beforeAgent: () => void seen.push('beforeAgent'),
    async *wrapAgent(setup, next) {
      seen.push('wrapAgent')
      return yield* next(setup)
    },
    beforeModel(_, run) {
      seen.push('beforeModel')
      if (run.answers.length === 0) interrupt('Which?')
    },
  }
  const model = scriptedModel([respond(say('Done.'))])
  const agent = createAgent({ model, checkpoints, middleware: [all] })
  const run = agent.stream('Go')
  const first = await run.result
  const stored = await checkpoints.load(run.id)
  seen.length = 0
  const resumed = agent.resume(run.id, answered(first, true))
  await expect(resumed.result).rejects.toMatchObject({
    name: 'AnswerError',
    message: expect.stringMatching(/^middleware all does not accept the answer to interrupt_\w+: /) as string,
  })
  expect(seen).toEqual([])
  expect(model.requests).toEqual([])
  expect(await checkpoints.load(run.id)).toEqual(stored)
  expect((await agent.resume(run.id, answered(first, { chosen: 'b' })).result).text).toBe('Done.')
})

test.for([0, 1])(
  'an answer that only the schema of its tool refuses is refused %d agents deep, although the run is cancelled at once (P17, K4)',
  async (depth) => {
    const agent = agentOf({ tools: [look, { ...ask, answer: answer.refine(({ chosen }) => chosen !== 'no') }] }, depth)
    const first = await agent.run('Go')
    const run = agent.resume(first.checkpoint ?? '', answered(first, { chosen: 'no' }))
    void run.cancel()
    await expect(run.result).rejects.toBeInstanceOf(AnswerError)
  },
)

test('if one of several answers is wrong, none is accepted (P17, L6)', async () => {
  const model = scriptedModel([respond(call('ask'), call('choose')), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [ask, choose] })
  const first = await agent.run('Go')
  const [asked = '', chosen = ''] = first.interrupts?.map(({ id }) => id) ?? []
  const answers = { [asked]: { chosen: 'a' }, [chosen]: null }
  await expect(agent.resume(first.checkpoint ?? '', answers).result).rejects.toMatchObject({ id: chosen })
  expect(did).toEqual([])
  const second = await agent.resume(first.checkpoint ?? '', { [asked]: { chosen: 'a' } }).result
  expect([did, second.interrupts?.map(({ id }) => id)]).toEqual([['ask [{"chosen":"a"}]'], [chosen]])
})

test('an agent that a tool creates when it is called refuses the answer itself: the run rejects, and the question stays open (P17)', async () => {
  const checkpoints = memoryStore()
  const innerModel = scriptedModel([respond(call('choose')), respond(say('Inside.'))])
  const inner = () => createAgent({ model: innerModel, name: 'inner', description: 'i', tools: [choose] })
  const makes = tool({
    name: 'makes',
    description: 'm',
    input: z.object({ request: z.string() }),
    execute: async (input, context) => await agentTool(inner()).execute?.(input, context),
  }) as Tool
  const model = scriptedModel([respond(call('makes', { request: 'Go' })), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [makes], checkpoints })
  const run = agent.stream('Go')
  const first = await run.result
  await expect(agent.resume(run.id, answered(first, true)).result).rejects.toBeInstanceOf(AnswerError)
  const again = await agent.resume(run.id).result
  expect(again.interrupts).toEqual(first.interrupts)
  const last = await agent.resume(run.id, answered(again, { chosen: 'b' })).result
  expect(last.messages.filter(({ role }) => role === 'tool')).toMatchObject([{ output: 'Inside.' }])
})

test('a schema that throws refuses the answer, and an abort ends a check that does not end (P17, K1)', async () => {
  const broken = new TypeError('no')
  const validates: readonly (() => never | Promise<never>)[] = [
    () => {
      throw broken
    },
    () => new Promise<never>(() => undefined),
  ]
  const [throws, hangs] = validates.map((validate) => {
    const output = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const model = scriptedModel([respond(call('choose')), respond(say('Done.'))])
    return createAgent({ model, tools: [{ ...choose, output }], grace: 10 })
  }) as [Agent, Agent]
  const first = await throws.run('Go')
  await expect(throws.resume(first.checkpoint ?? '', answered(first, 1)).result).rejects.toMatchObject({
    name: 'AnswerError',
    issues: [{ path: '', message: 'no' }],
    cause: broken,
  })
  const second = await hangs.run('Go')
  const signal = AbortSignal.timeout(10)
  const resumed = hangs.resume(second.checkpoint ?? '', answered(second, 1), { signal })
  await expect(resumed.result).rejects.toMatchObject({ name: 'AbortError' })
})

test('only a valid schema may define what an answer must be (P17, A2)', () => {
  const model = scriptedModel([])
  const wrong = { answer: 'a text' } as object
  expect(() => createAgent({ model, middleware: [{ name: 'asks', ...wrong }] })).toThrow(
    expect.objectContaining({ name: 'ConfigError', option: 'middleware.asks.answer' }),
  )
  for (const option of ['answer', 'output']) {
    const broken = { ...choose, [option]: () => true } as Tool
    expect(() => createAgent({ model, tools: [broken] })).toThrow(ConfigError)
    expect(() => createAgent({ model, tools: [broken] })).toThrow(`tools.choose.${option}: must be a Standard Schema`)
  }
})

test('answers are checked without a resume: by the schema of the tool or middleware, otherwise by that of the question; others are ignored (P17)', async () => {
  const agent = agentOf({ tools: [ask, slowly] }, 0)
  const result = await agent.run('Go')
  const interrupts = result.status === 'interrupted' ? result.interrupts : []
  expect(interrupts).toHaveLength(2)
  const checked = (answers: Answers, by: Askers = agent) => checkAnswers(interrupts, answers, by)
  for (const { id } of interrupts) {
    await checked({ [id]: { chosen: 'red' } })
    await expect(checked({ [id]: 'red' })).rejects.toMatchObject({ name: 'AnswerError', id })
    await expect(checked({ [id]: 'red' }, {})).rejects.toMatchObject({ name: 'AnswerError', id })
  }
  await checked({ nobody: 'red' })
  expect(agent.tools.map(({ name }) => name)).toEqual(['ask', 'slowly'])
  expect(did).toEqual([])
})
