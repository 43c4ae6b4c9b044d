import { call, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import {
  type Agent,
  type AgentResult,
  createAgent,
  type Json,
  type Middleware,
  type Tool,
  type ToolCall,
  textOf,
  tool,
} from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Approval } from './approval.ts'
import { type ApprovalQuestion, type ApproveOptions, approve } from './approve.ts'
import { retryTool } from './retry-tool.ts'

interface Given extends Partial<ApproveOptions> {
  readonly before?: readonly Middleware[]
  readonly after?: readonly Middleware[]
  readonly execute?: (input: unknown) => unknown
  readonly more?: Partial<Tool>
}

/** An agent with the tool `pay`, and what `pay` got. */
function payer(input: z.ZodType, calls: readonly ScriptStep[], given: Given = {}) {
  const { before = [], after = [], execute = () => 'Paid.', more, ...options } = given
  const ran: unknown[] = []
  const pay = {
    ...tool({
      name: 'pay',
      description: 'Pays.',
      input,
      execute(input) {
        ran.push(structuredClone(input))
        return execute(input)
      },
    }),
    ...more,
  } as Tool
  const agent = createAgent({
    model: scriptedModel([respond(...calls), respond(say('Done.')), respond(say('Done.'))]),
    tools: [pay],
    middleware: [...before, approve({ tools: ['pay'], ...options }), ...after],
  })
  return { agent, ran }
}

const ALL = ['allow', 'deny', 'edit']

const questionsOf = ({ interrupts = [] }: AgentResult) => interrupts.map(({ payload }) => payload as ApprovalQuestion)

const answered = (agent: Agent, { checkpoint, interrupts = [] }: AgentResult, ...answers: Approval[]) =>
  agent.resume(
    JSON.parse(JSON.stringify(checkpoint)),
    Object.fromEntries(answers.map((answer, index) => [interrupts[index]?.id ?? '', answer as Json])),
  ).result

const resultsOf = ({ messages }: AgentResult) =>
  messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))

const SCHEMAS: readonly (readonly [what: string, schema: z.ZodType, written: Json, checked: Json])[] = [
  [
    'a number in hexadecimal',
    z.object({ amount: z.coerce.number() }),
    { amount: '0x5f5e100' },
    { amount: 100_000_000 },
  ],
  ['a default', z.object({ to: z.string().default('all') }), {}, { to: 'all' }],
  ['a name that is trimmed', z.object({ to: z.string().trim().toLowerCase() }), { to: ' ADA ' }, { to: 'ada' }],
  ['a word for a boolean', z.object({ dry: z.stringbool() }), { dry: 'no' }, { dry: false }],
  ['a member that the schema drops', z.object({ n: z.number() }), { n: 1, note: 'for Ada' }, { n: 1 }],
  ['JSON text', z.object({ to: z.array(z.string()) }), { to: '["ada"]' }, { to: ['ada'] }],
]

test.for(SCHEMAS)(
  'the predicate, ask, the payload and the tool get the checked input: %s (W50)',
  async ([, schema, written, checked]) => {
    const seen: unknown[] = []
    const predicate = ({ input }: ToolCall) => seen.push(input) > 0
    const interrupting = payer(schema, [call('pay', written)], { tools: predicate })
    const first = await interrupting.agent.run('Go')
    expect(questionsOf(first)).toEqual([{ tool: 'pay', input: checked, written, callId: 'call_1_1', decisions: ALL }])
    await answered(interrupting.agent, first, { decision: 'allow' })
    const ask: NonNullable<ApproveOptions['ask']> = ({ input }) => {
      seen.push(input)
      return { decision: 'allow' }
    }
    const asking = payer(schema, [call('pay', written)], { ask })
    await asking.agent.run('Go')
    expect([...seen, ...interrupting.ran, ...asking.ran]).toEqual([checked, checked, checked, checked])
  },
)

test('an input that the schema leaves as it is has no written in its payload (W50)', async () => {
  const { agent } = payer(z.object({ n: z.number() }), [call('pay', '{ "n": 1.0 }')])
  expect(questionsOf(await agent.run('Go'))).toEqual([
    { tool: 'pay', input: { n: 1 }, callId: 'call_1_1', decisions: ALL },
  ])
})

test('the payload has what the model wrote if a wrap outside changed it (W50)', async () => {
  const more: Middleware = { name: 'more', wrapToolCall: (call, next) => next({ ...call, input: { n: 99_999 } }) }
  const { agent, ran } = payer(z.object({ n: z.number() }), [call('pay', { n: 5 })], { before: [more] })
  const first = await agent.run('Go')
  expect(questionsOf(first)).toMatchObject([{ input: { n: 99_999 }, written: { n: 5 } }])
  await answered(agent, first, { decision: 'allow' })
  expect(ran).toEqual([{ n: 99_999 }])
})

test('the schema checks an input once, whether or not a human is asked, and also after a pause (W50)', async () => {
  let checks = 0
  const schema = z.object({
    n: z.number().transform((n) => {
      checks++
      return n * 2
    }),
  })
  const free = payer(schema, [call('pay', { n: 1 })], { tools: ({ input }) => (input as { n: number }).n > 2 })
  await free.agent.run('Go')
  expect([free.ran, checks]).toEqual([[{ n: 2 }], 1])
  const asked = payer(schema, [call('pay', { n: 1 })])
  await answered(asked.agent, await asked.agent.run('Go'), { decision: 'allow' })
  expect([asked.ran, checks]).toEqual([[{ n: 2 }], 2])
})

test('a wrap inside that passes on an equal input changes nothing, and another input is checked (W50)', async () => {
  const schema = z.object({ n: z.number().transform((n) => n * 2) })
  const inside = (change: (n: number) => number): Middleware => ({
    name: 'inside',
    wrapToolCall: (call, next) => next({ ...call, input: { n: change((call.input as { n: number }).n) } }),
  })
  let value = 0
  const random = schema.transform(({ n }) => ({ n, key: ++value }))
  const equal = payer(random, [call('pay', { n: 1 })], { after: [inside((n) => n)] })
  await answered(equal.agent, await equal.agent.run('Go'), { decision: 'allow' })
  expect(equal.ran).toEqual([{ n: 2, key: 1 }])
  const changed = payer(random, [call('pay', { n: 1 })], { after: [inside((n) => n + 1)] })
  await answered(changed.agent, await changed.agent.run('Go'), { decision: 'allow' })
  expect(changed.ran).toEqual([{ n: 4, key: 3 }])
})

test('after a pause a checked input that is JSON is used as it was shown (W50)', async () => {
  let next = 0
  const schema = z.object({}).transform(() => ({ key: ++next }))
  const { agent, ran } = payer(schema, [call('pay', {}), call('pay', {})])
  const first = await agent.run('Go')
  expect(questionsOf(first).map(({ input }) => input)).toEqual([{ key: 1 }, { key: 2 }])
  const second = await answered(agent, first, { decision: 'allow' })
  expect(questionsOf(second).map(({ input }) => input)).toEqual([{ key: 2 }])
  await answered(agent, second, { decision: 'allow' })
  expect(ran).toEqual([{ key: 1 }, { key: 2 }])
})

const at = (later: () => number) =>
  z.object({ at: z.string().transform((text) => new Date(Date.parse(text) + later())) })
const WHEN = '2030-01-01T00:00:00.000Z'

test('a checked input with a date is shown as JSON, and the tool gets the date (W50)', async () => {
  const { agent, ran } = payer(
    at(() => 0),
    [call('pay', { at: '2030-01-01' })],
  )
  const first = await agent.run('Go')
  expect(questionsOf(first)).toMatchObject([{ input: { at: WHEN }, written: { at: '2030-01-01' } }])
  await answered(agent, first, { decision: 'allow' })
  expect(ran).toEqual([{ at: new Date(WHEN) }])
})

test('if it is another one after the pause, the call does not run, whatever the answer was, and there is a new question (W50)', async () => {
  for (const decision of ['allow', 'deny'] as const) {
    let later = 0
    const tools = () => later === 0
    const { agent, ran } = payer(
      at(() => later),
      [call('pay', { at: WHEN })],
      { tools },
    )
    const first = await agent.run('Go')
    later = 1
    const second = await answered(agent, first, { decision })
    expect(questionsOf(second)).toMatchObject([{ input: { at: '2030-01-01T00:00:00.001Z' } }])
    expect(second.interrupts?.[0]?.id).not.toBe(first.interrupts?.[0]?.id)
    expect(ran).toEqual([])
    await answered(agent, second, { decision: 'allow' })
    expect(ran).toEqual([{ at: new Date('2030-01-01T00:00:00.001Z') }])
  }
})

test('every attempt inside gets its own copy of the allowed input (W50)', async () => {
  let failures = 2
  const execute = (input: unknown) => {
    const { at } = input as { at?: Date; list?: number[] }
    at?.setTime(0)
    ;(input as { list?: number[] }).list?.push(9)
    if (failures-- > 0) throw new Error('not yet')
    return 'Paid.'
  }
  const after = [retryTool({ tools: ['pay'], random: () => 0 })]
  const dated = payer(
    at(() => 0),
    [call('pay', { at: WHEN })],
    { execute, after, ask: () => ({ decision: 'allow' }) },
  )
  await dated.agent.run('Go')
  expect(dated.ran).toEqual(Array.from({ length: 3 }, () => ({ at: new Date(WHEN) })))
  failures = 2
  const list = z.object({ list: z.array(z.number()) })
  const listed = payer(list, [call('pay', { list: [1] })], { execute, after, ask: () => ({ decision: 'allow' }) })
  await listed.agent.run('Go')
  expect(listed.ran).toEqual(Array.from({ length: 3 }, () => ({ list: [1] })))
})

test('a predicate that changes the input that it gets changes nothing else (W50)', async () => {
  const tools = ({ input }: ToolCall) => {
    ;(input as { n: number }).n = 0
    return true
  }
  const { agent, ran } = payer(z.object({ n: z.number() }), [call('pay', { n: 7 })], { tools })
  const first = await agent.run('Go')
  expect(questionsOf(first)).toMatchObject([{ input: { n: 7 } }])
  await answered(agent, first, { decision: 'allow' })
  expect(ran).toEqual([{ n: 7 }])
})

test('remember compares the inputs that were shown (W50, N25)', async () => {
  const amount = z.object({ amount: z.coerce.number() })
  const asked: unknown[] = []
  const model = scriptedModel([
    respond(call('pay', { amount: '5' })),
    respond(call('pay', { amount: 5 }), call('pay', { amount: '0x5' })),
    respond(call('pay', { amount: '05.1' })),
    respond(say('Done.')),
  ])
  const ran: unknown[] = []
  const pay = tool({ name: 'pay', description: 'p', input: amount, execute: (input) => void ran.push(input) })
  const ask: NonNullable<ApproveOptions['ask']> = ({ input }) => {
    asked.push(input)
    return { decision: 'allow' }
  }
  const middleware = [approve({ tools: ['pay'], remember: 'run', ask })]
  await createAgent({ model, tools: [pay as Tool], middleware }).run('Go')
  expect(asked).toEqual([{ amount: 5 }, { amount: 5.1 }])
  expect(ran).toEqual([{ amount: 5 }, { amount: 5 }, { amount: 5 }, { amount: 5.1 }])
})

test('an edited input that the schema changes is refused, and the refusal shows what the tool would get (W50)', async () => {
  const schema = z.object({ amount: z.coerce.number() })
  const refused = 'Not run: pay would get another input than the edited one: {"amount":16}'
  for (const ask of [true, false]) {
    const edit: Approval = { decision: 'edit', input: { amount: '0x10' } }
    const { agent, ran } = payer(schema, [call('pay', { amount: 1 })], ask ? { ask: () => edit } : {})
    const first = await agent.run('Go')
    const last = ask ? first : await answered(agent, first, edit)
    expect([resultsOf(last), ran]).toEqual([[refused], []])
  }
  const { agent, ran } = payer(
    at(() => 0),
    [call('pay', { at: WHEN })],
  )
  await answered(agent, await agent.run('Go'), { decision: 'edit', input: { at: '2031-01-01T00:00:00.000Z' } })
  expect(ran).toEqual([{ at: new Date('2031-01-01') }])
})

class Order {
  readonly #price = 5
  total() {
    return this.#price
  }
}

test.for<[string, (n: number) => unknown]>([
  ['a map', (n) => new Map([[n, n]])],
  ['a set', (n) => [new Set([n])]],
  ['an object of a class', () => ({ order: new Order() })],
  ['a function', (n) => () => n],
  ['a symbol', () => [Symbol('x')]],
  ['a number that JSON does not have', () => [Number.POSITIVE_INFINITY]],
])('a checked input with %s cannot be shown, so nobody is asked and it does not run (W50)', async ([, made]) => {
  const schema = z.object({ n: z.number().transform(made) })
  const execute = () => 'Paid.'
  const asked = payer(schema, [call('pay', { n: 1 })], { execute })
  const result = await asked.agent.run('Go')
  expect(resultsOf(result)).toEqual([expect.stringContaining('the checked input of pay cannot be shown: it contains ')])
  expect(asked.ran).toEqual([])
})

test('a bigint is shown as its digits (W50)', async () => {
  const { agent, ran } = payer(z.object({ n: z.string().transform(BigInt) }), [call('pay', { n: '0x10' })])
  const first = await agent.run('Go')
  expect(questionsOf(first)).toMatchObject([{ input: { n: '16' } }])
  await answered(agent, first, { decision: 'allow' })
  expect(ran).toEqual([{ n: 16n }])
})

test('an invalid input fails before the predicate is asked (W50, N24)', async () => {
  const asked: unknown[] = []
  const tools = ({ input }: ToolCall) => asked.push(input) > 0
  const { agent, ran } = payer(z.object({ n: z.number() }), [call('pay', { n: 'one' })], { tools })
  expect(resultsOf(await agent.run('Go'))).toEqual([expect.stringMatching(/^invalid input for pay: n: /)])
  expect([asked, ran]).toEqual([[], []])
})

test('a background tool gets what was allowed (W50)', async () => {
  let next = 0
  const schema = z.object({}).transform(() => ({ key: ++next }))
  const { agent, ran } = payer(schema, [call('pay', {})], { more: { background: true } })
  const first = await agent.run('Go')
  expect(questionsOf(first)).toMatchObject([{ input: { key: 1 } }])
  await answered(agent, first, { decision: 'allow' })
  expect(ran).toEqual([{ key: 1 }])
})

test('the caller that executes a tool gets what was allowed (W50)', async () => {
  const choose = tool({ name: 'choose', description: 'c', input: z.object({ to: z.string().trim() }) })
  const agent = createAgent({
    model: scriptedModel([respond(call('choose', { to: ' ada ' })), respond(say('Done.'))]),
    tools: [choose as Tool],
    middleware: [approve({ tools: ['choose'] })],
  })
  const second = await answered(agent, await agent.run('Go'), { decision: 'allow' })
  expect(second.interrupts?.[0]?.payload).toMatchObject({ type: 'tool-call', input: { to: 'ada' } })
})

/** Passes a call on once for each amount, one after the other. */
const split = (...amounts: readonly number[]): Middleware => ({
  name: 'split',
  async *wrapToolCall(call, next) {
    let last = yield* next({ ...call, input: { n: amounts[0] } })
    for (const n of amounts.slice(1)) last = yield* next({ ...call, input: { n } })
    return last
  },
})

test('a wrap outside that passes a call on several times asks about each input, and no answer counts for another one (W51)', async () => {
  const schema = z.object({ n: z.number() })
  const decide = ({ input }: ApprovalQuestion): Approval =>
    (input as { n: number }).n > 10 ? { decision: 'deny' } : { decision: 'allow' }
  for (const amounts of [
    [5, 99_999],
    [99_999, 5],
    [5, 99_999, 6, 99_999],
  ]) {
    const asked: unknown[] = []
    const ask = (question: ApprovalQuestion) => {
      asked.push((question.input as { n: number }).n)
      return decide(question)
    }
    const asking = payer(schema, [call('pay', { n: 1 })], { before: [split(...amounts)], ask })
    await asking.agent.run('Go')
    const interrupting = payer(schema, [call('pay', { n: 1 })], { before: [split(...amounts)] })
    let result = await interrupting.agent.run('Go')
    const questions: unknown[] = []
    while (result.interrupts && questions.length < 9) {
      const [question] = questionsOf(result)
      if (!question) break
      questions.push((question.input as { n: number }).n)
      result = await answered(interrupting.agent, result, decide(question))
    }
    expect(questions).toEqual([...new Set(amounts)])
    expect(asked).toEqual([...new Set(amounts)])
    const small = amounts.filter((n) => n <= 10).map((n) => ({ n }))
    expect([asking.ran, interrupting.ran]).toEqual([small, small])
  }
})

test('each call has its own question, also if calls that different calls make have the same id (W51)', async () => {
  const amounts: Readonly<Record<string, number>> = { small: 5, large: 99_999 }
  const relay = tool({
    name: 'relay',
    description: 'r',
    effect: 'calls',
    input: z.object({ which: z.string() }),
    async execute({ which }, { run }) {
      const inner: ToolCall = { type: 'tool-call', id: 'inner', name: 'pay', input: { n: amounts[which] } }
      return textOf((await run?.callTool(inner)) ?? { role: 'user', content: '' })
    },
  })
  for (const order of [
    ['small', 'large'],
    ['large', 'small'],
  ]) {
    const ran: unknown[] = []
    const pay = tool({
      name: 'pay',
      description: 'p',
      input: z.object({ n: z.number() }),
      execute: (input) => void ran.push(input),
    })
    const ask: NonNullable<ApproveOptions['ask']> = ({ input }) =>
      (input as { n: number }).n > 10 ? { decision: 'deny' } : { decision: 'allow' }
    const agent = createAgent({
      model: scriptedModel([respond(...order.map((which) => call('relay', { which }))), respond(say('Done.'))]),
      tools: [relay as Tool, pay as Tool],
      middleware: [approve({ tools: ['pay'], ask })],
      toolConcurrency: 1,
    })
    await agent.run('Go')
    expect(ran).toEqual([{ n: 5 }])
  }
})
