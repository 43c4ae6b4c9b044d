import { call, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { played, settled } from '../../test/played-runs.ts'
import { answersTo, idsOf, textsOf } from '../../test/results.ts'
import {
  type Agent,
  type AgentOptions,
  type AgentResult,
  agentTool,
  type Checkpoint,
  CheckpointMismatchError,
  checkAnswers,
  createAgent,
  interrupt,
  type Middleware,
  memoryStore,
  type Tool,
  type ToolAliases,
  tool,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const did: unknown[] = []
beforeEach(() => void did.splice(0))

const stored = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value

const agentOf = (tools: readonly Tool[], script: readonly ScriptedResponse[], options: Partial<AgentOptions> = {}) =>
  createAgent({ model: scriptedModel(script), tools, ...options })

/** `pay`, and the same tool after it was renamed, with a renamed member. It asks twice. */
const members = { pay: 'to', transfer: 'recipient', send_money: 'payee' } as const

function payer(name: keyof typeof members, aliases?: ToolAliases): Tool {
  const member = members[name]
  return tool({
    name,
    description: 'Pays.',
    input: z.object({ [member]: z.string() }),
    answer: z.string().refine((text) => text.length < 10),
    ...(aliases && { aliases }),
    execute(input, { answers, attempt, idempotencyKey, callId }) {
      did.push([name, callId, input, answers, attempt, idempotencyKey])
      if (answers.length < 2) throw interrupt(answers.length === 0 ? 'really?' : 'sure?')
      return `paid ${input[member]}`
    },
  }) as Tool
}

const pay = payer('pay')
const transfer = payer('transfer', { names: ['pay'], input: { recipient: ['to'] } })
const sendMoney = payer('send_money', { names: ['transfer', 'pay'], input: { payee: ['recipient', 'to'] } })

const twoCalls = [respond(call('pay', { to: 'ada' }), call('pay', { to: 'bob' })), respond(say('Done'))]

test('a call of a renamed tool whose old name is an alias goes on with the answer, its input and its key (M9, L7)', async () => {
  const { result } = await played(agentOf([pay], twoCalls).stream('Go'))
  const [first = '', second = ''] = idsOf(result)
  const keys = did.map((one) => (one as unknown[])[5])
  did.length = 0
  const renamed = agentOf([transfer], [respond(say('Done'))])
  const once = await played(renamed.resume(stored(result.checkpoint as Checkpoint), { [first]: 'yes' }))
  expect(did).toEqual([['transfer', 'call_1_1', { recipient: 'ada' }, ['yes'], 2, keys[0]]])
  expect(once.events.filter(({ type }) => type === 'tool-start' || type === 'question')).toMatchObject([
    { type: 'tool-start', toolName: 'transfer', call: { name: 'transfer', input: { recipient: 'ada' } } },
    { type: 'question', toolName: 'transfer', payload: 'sure?' },
  ])
  // The question that was not answered keeps its id.
  expect(idsOf(once.result)[1]).toBe(second)
  const [next = ''] = idsOf(once.result)
  did.length = 0
  const again = agentOf([sendMoney], [respond(say('Done'))])
  const twice = await played(again.resume(stored(once.checkpoint as Checkpoint), { [next]: 'sure' }))
  expect(did).toEqual([['send_money', 'call_1_1', { payee: 'ada' }, ['yes', 'sure'], 3, keys[0]]])
  expect(idsOf(twice.result)).toEqual([second])
  const third = await played(again.resume(stored(twice.checkpoint as Checkpoint), { [second]: 'yes' }))
  const last = await played(again.resume(stored(third.checkpoint as Checkpoint), answersTo(third.result)))
  expect(textsOf(last.result)).toEqual(['Go', 'paid ada', 'paid bob', 'Done'])
  expect(last.result.messages.flatMap((message) => (message.role === 'tool' ? [message.name] : []))).toEqual([
    'pay',
    'pay',
  ])
})

test('a wrap that asked about a call of a renamed tool gets its answer, and sees the name of the tool (M9, L7)', async () => {
  const asks: Middleware = {
    name: 'asks',
    async *wrapToolCall(call, next, run) {
      const [answer] = run.answers
      did.push([call.name, call.input, answer])
      if (answer === undefined) throw interrupt('may it?')
      return yield* next(call)
    },
  }
  const options = { middleware: [asks] }
  const quiet = (name: string, aliases?: ToolAliases) =>
    tool({
      name,
      description: '.',
      input: z.object({ to: z.string() }),
      ...(aliases && { aliases }),
      execute: ({ to }) => `${name} ${to}`,
    }) as Tool
  const { result } = await played(agentOf([quiet('pay')], twoCalls, options).stream('Go'))
  did.length = 0
  const renamed = agentOf([quiet('transfer', { names: ['pay'] })], [respond(say('Done'))], options)
  const { result: last } = await played(renamed.resume(stored(result.checkpoint as Checkpoint), answersTo(result)))
  expect(did).toEqual([
    ['transfer', { to: 'ada' }, 'yes'],
    ['transfer', { to: 'bob' }, 'yes'],
  ])
  expect(textsOf(last)).toEqual(['Go', 'transfer ada', 'transfer bob', 'Done'])
})

test('the answer to a renamed tool is checked with its schema (M9, L6)', async () => {
  const { result } = await played(agentOf([pay], twoCalls).stream('Go'))
  const answers = answersTo(result, 'x'.repeat(10))
  const renamed = agentOf([transfer], [])
  await expect(checkAnswers(result.interrupts ?? [], answers, renamed)).rejects.toThrow('does not accept the answer')
  const { error } = await settled(renamed.resume(stored(result.checkpoint as Checkpoint), answers))
  expect(error).toMatchObject({ name: 'AnswerError' })
})

test('a tool without execute that was renamed gets the answer of the client as its result (M9)', async () => {
  const choose = (name: string, aliases?: ToolAliases) =>
    tool({
      name,
      description: '.',
      input: z.object({}),
      output: z.object({ chosen: z.string() }),
      ...(aliases && { aliases }),
    }) as Tool
  const script = [respond(call('choose', {})), respond(say('Done'))]
  const { result } = await played(agentOf([choose('choose')], script).stream('Go'))
  const renamed = agentOf([choose('select', { names: ['choose'] })], [respond(say('Done'))])
  const last = await played(renamed.resume(stored(result.checkpoint as Checkpoint), answersTo(result, { chosen: 'a' })))
  expect(textsOf(last.result)).toEqual(['Go', '{"chosen":"a"}', 'Done'])
})

const asked = (name: string, input: unknown) => ({ type: 'tool-call' as const, id: `${name}_1`, name, input })

/** Resumes until nothing is asked any more, each time from the stored checkpoint. */
async function answered(agent: Agent, from: AgentResult): Promise<AgentResult> {
  if (from.status !== 'interrupted') return from
  const { result } = await played(agent.resume(stored(from.checkpoint), answersTo(from)))
  return await answered(agent, result)
}

test('calls inside a call of a renamed tool continue, and those with a result are not executed again (M9)', async () => {
  const log = (name: string, aliases?: ToolAliases) =>
    tool({
      name,
      description: '.',
      input: z.object({}),
      ...(aliases && { aliases }),
      execute: () => void did.push(name),
    }) as Tool
  const outer = (name: string, aliases?: ToolAliases) =>
    tool({
      name,
      description: '.',
      input: z.object({}),
      ...(aliases && { aliases }),
      async execute(_, { run }) {
        await run?.callTool(asked('log', {}))
        return (await run?.callTool(asked('pay', { to: 'ada' })))?.output
      },
    }) as Tool
  const script = [respond(call('log', {}), call('outer', {})), respond(say('Done'))]
  const { result } = await played(agentOf([log('log'), outer('outer'), pay], script).stream('Go'))
  const tools = [log('note', { names: ['log'] }), outer('around', { names: ['outer'] }), transfer]
  const last = await answered(agentOf(tools, [respond(say('Done'))]), result)
  expect(textsOf(last)).toEqual(['Go', '', 'paid ada', 'Done'])
  expect(did.filter((one) => one === 'log' || one === 'note')).toEqual(['log', 'log'])
})

test('an agent inside a call continues after both tools were renamed (M9, L9)', async () => {
  const clerk = (name: string, tools: readonly Tool[], script: readonly ScriptedResponse[]) =>
    agentTool(agentOf(tools, script), { name, description: '.' }) as Tool
  const script = [respond(call('clerk', { request: 'Pay' })), respond(say('Done'))]
  const before = clerk('clerk', [pay], [respond(call('pay', { to: 'eve' }))])
  const { result } = await played(agentOf([before], script).stream('Go'))
  const keys = did.map((one) => (one as unknown[])[5])
  const cashier = { ...clerk('cashier', [transfer], [respond(say('Paid'))]), aliases: { names: ['clerk'] } }
  const last = await answered(agentOf([cashier], [respond(say('Done'))]), result)
  expect(textsOf(last)).toEqual(['Go', 'Paid', 'Done'])
  expect(did).toEqual([
    ['pay', 'call_1_1', { to: 'eve' }, [], 1, keys[0]],
    ['transfer', 'call_1_1', { recipient: 'eve' }, ['yes'], 2, keys[0]],
    ['transfer', 'call_1_1', { recipient: 'eve' }, ['yes', 'yes'], 3, keys[0]],
  ])
})

test('a run that was killed while a renamed tool worked continues as if it had its old name (L20, M9)', async () => {
  const read = (name: string, aliases?: ToolAliases) =>
    tool({
      name,
      description: '.',
      input: z.object({ path: z.string() }),
      effect: 'idempotent',
      ...(aliases && { aliases }),
      async execute({ path }) {
        did.push(`${name} ${path}`)
        if (name === 'cat') await new Promise(() => undefined)
        return `${name} ${path}`
      },
    }) as Tool
  const checkpoints = memoryStore()
  const script = [respond(call('cat', { path: 'a' })), respond(say('Done'))]
  const controller = new AbortController()
  const run = agentOf([read('cat')], script, { checkpoints }).stream('Go', { signal: controller.signal })
  await vi.advanceTimersByTimeAsync(50)
  const left = memoryStore()
  await left.save(run.id, (await checkpoints.load(run.id)) as Checkpoint, 0)
  controller.abort()
  await settled(run)
  const renamed = agentOf([read('read_file', { names: ['cat'] })], [respond(say('Done'))], { checkpoints: left })
  const { result, events } = await played(renamed.resume(run.id, {}, { rerun: ['read', 'idempotent'] }))
  expect(did).toEqual(['cat a', 'read_file a'])
  expect(textsOf(result)).toEqual(['Go', 'read_file a', 'Done'])
  expect(events.filter(({ type }) => type === 'tool-start')).toMatchObject([{ toolName: 'read_file', rerun: true }])
})

test('a tool that was renamed without an alias is missing (L13)', async () => {
  const { result } = await played(agentOf([pay], twoCalls).stream('Go'))
  const renamed = agentOf([payer('transfer')], [])
  const { error } = await settled(renamed.resume(stored(result.checkpoint as Checkpoint), answersTo(result)))
  expect(error).toBeInstanceOf(CheckpointMismatchError)
  expect(error).toMatchObject({ message: expect.stringContaining('no tool pay') })
  expect(did).toHaveLength(2)
})
