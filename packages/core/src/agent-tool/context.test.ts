import { call, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { agentTool, contextOf, createAgent, interrupt, type Middleware, runTool, type Tool, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({})
const tenancy = z.object({ tenant: z.string() })
const who = tool({
  name: 'who',
  description: 'w',
  input,
  context: tenancy,
  execute: (_, { context }) => context.tenant,
}) as Tool

const asksExpert = [respond(call('expert', { request: 'Who?' })), respond(say('Done.'))]
const asksWho = [respond(call('who')), respond(say('Known.'))]

function expertOf(
  tools: readonly Tool[] = [who],
  responses: readonly ScriptResponse[] = asksWho,
  middleware: readonly Middleware[] = [],
) {
  const model = scriptedModel(responses)
  return { model, agent: createAgent({ name: 'expert', description: 'knows', model, tools, middleware }) }
}

function bossOf(tools: readonly Tool[], responses: readonly ScriptResponse[] = asksExpert) {
  const model = scriptedModel(responses)
  return { model, agent: createAgent({ name: 'boss', model, tools }) }
}

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

const failureOf = (work: Promise<unknown>) =>
  settled(
    work.then(
      () => undefined,
      (error: unknown) => error,
    ),
  )

/** What the model of an expert read from its tools. */
const readBy = ({ requests }: ReturnType<typeof expertOf>['model']) =>
  requests.at(-1)?.messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []))

test('an agent inside a run has the same context, and its hooks too (M4)', async () => {
  const read = contextOf(tenancy)
  const seen: string[] = []
  const hook: Middleware = { name: 'hook', context: read, beforeModel: (_, run) => void seen.push(read(run).tenant) }
  const { model, agent } = expertOf([who], asksWho, [hook])
  await settled(bossOf([agentTool(agent)]).agent.run('Go', { context: { tenant: 'acme' } }))
  expect(readBy(model)).toEqual(['acme'])
  expect(seen).toEqual(['acme', 'acme'])
})

test('agentTool may make another context for the agent, once in each calling run, also with a promise (M4)', async () => {
  const outer: unknown[] = []
  const { model, agent } = expertOf(
    [who],
    [respond(call('who')), respond(say('1.')), respond(call('who')), respond(say('2.'))],
  )
  const narrowed = agentTool(agent, {
    context: async (given) => {
      outer.push(given)
      return await Promise.resolve({ tenant: 'beta' })
    },
  })
  const asksTwice = [
    respond(call('expert', { request: '1' })),
    respond(call('expert', { request: '2' })),
    respond(say('Done.')),
  ]
  const context = { tenant: 'acme' }
  await settled(bossOf([narrowed], asksTwice).agent.run('Go', { context }))
  expect(readBy(model)).toEqual(['beta'])
  expect(outer).toEqual([context])
  expect(outer[0]).toBe(context)
})

test('the context of an inner agent is checked with the rest, before the first model call, and the error names the tool that needs it (A24)', async () => {
  const { model, agent } = expertOf()
  const inner = createAgent({ name: 'middle', description: 'm', model, tools: [agentTool(agent)] })
  const boss = bossOf([agentTool(inner), who])
  expect(await failureOf(boss.agent.run('Go', { context: { tenant: 3 } }))).toMatchObject({
    name: 'ContextError',
    issues: [
      { path: 'tool middle.tool expert.tool who.tenant', message: expect.stringContaining('expected string') },
      { path: 'tool who.tenant' },
    ],
  })
  expect([boss.model.requests, model.requests]).toEqual([[], []])
})

test('a throw while the context of an agent is made is a ContextError of the calling run, whose text does not contain what was thrown (A24)', async () => {
  const { agent } = expertOf()
  const thrown = new Error('secret')
  const narrowed = agentTool(agent, {
    context: () => {
      throw thrown
    },
  })
  const boss = bossOf([narrowed])
  const error = await failureOf(boss.agent.run('Go', { context: { tenant: 'acme' } }))
  expect(error).toMatchObject({
    name: 'ContextError',
    issues: [{ path: 'tool expert', message: 'its schema threw' }],
    cause: thrown,
  })
  expect(String(error)).not.toContain('secret')
  expect(boss.model.requests).toEqual([])
})

test('the agent of a tool that creates one when it is called has the context of the run; if it does not fit, the call fails (M3)', async () => {
  const forks = (model: ReturnType<typeof expertOf>['model'], tools: readonly Tool[]) =>
    tool({
      name: 'expert',
      description: 'f',
      input: z.object({ request: z.string() }),
      execute: async (asked, calling) => {
        const { execute } = agentTool(createAgent({ name: 'fork', description: 'f', model, tools }))
        return await execute?.(asked, calling)
      },
    }) as Tool
  const { model } = expertOf()
  await settled(bossOf([forks(model, [who])]).agent.run('Go', { context: { tenant: 'acme' } }))
  expect(readBy(model)).toEqual(['acme'])

  const refused = scriptedModel([])
  const { messages } = await settled(bossOf([forks(refused, [who])]).agent.run('Go'))
  expect(messages[2]).toMatchObject({
    role: 'tool',
    isError: true,
    content: [{ text: expect.stringContaining('tool fork.tool who') }],
  })
  expect(refused.requests).toEqual([])
})

test('a resume passes the inner agent its context again, and its tools are checked before anything runs (L9)', async () => {
  const asking = tool({
    name: 'ask',
    description: 'a',
    input,
    context: tenancy,
    execute: (_, { context, answers: [answer] }) => {
      if (answer === undefined) throw interrupt('Sure?')
      return `${context.tenant} ${JSON.stringify(answer)}`
    },
  }) as Tool
  const { model, agent } = expertOf([asking], [respond(call('ask')), respond(say('Known.'))])
  const boss = bossOf([agentTool(agent)])
  const first = await settled(boss.agent.run('Go', { context: { tenant: 'acme' } }))
  const answers = { [first.interrupts?.[0]?.id ?? '']: 'yes' }
  expect(JSON.stringify(first)).not.toContain('acme')
  expect(await failureOf(boss.agent.resume(first.checkpoint ?? '', answers).result)).toMatchObject({
    name: 'ContextError',
    issues: [{ path: 'tool expert.tool ask' }],
  })
  expect([model.requests.length, boss.model.requests.length]).toEqual([1, 1])
  await settled(boss.agent.resume(first.checkpoint ?? '', answers, { context: { tenant: 'beta' } }).result)
  expect(readBy(model)).toEqual(['beta "yes"'])
})

test('an agent as a tool without a run has the context that was passed to runTool (I11)', async () => {
  const { model, agent } = expertOf()
  const narrowed = agentTool(agent, { context: () => ({ tenant: 'beta' }) })
  expect(await settled(runTool(narrowed, { request: 'Who?' }, { context: 3 }).result)).toBe('Known.')
  expect(readBy(model)).toEqual(['beta'])
})

test('with history the agent reads what the calling model had read, then its request (M1)', async () => {
  const { model, agent } = expertOf([], [respond(say('Known.'))])
  const look = tool({ name: 'look', description: 'l', input, execute: () => 'seen' }) as Tool
  const asks = [
    respond(call('look')),
    respond(say('Hm.'), call('look'), call('expert', { request: 'Who?' })),
    respond(say('Done.')),
  ]
  const boss = bossOf([look, agentTool(agent, { history: true })], asks)
  const { messages } = await settled(boss.agent.run('Go'))
  expect(model.requests[0]?.messages).toEqual([...messages.slice(0, 3), { role: 'user', content: 'Who?' }])
  expect(boss.model.requests[1]?.messages).toEqual(messages.slice(0, 3))
})

test('the context of agentTool must be a function (A2)', () => {
  expect(() => agentTool(expertOf().agent, { context: 'acme' as never })).toThrow('context: must be a function')
})
