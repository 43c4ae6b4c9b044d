import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createAgent, type Middleware, type Tool, tool } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

const named = (name: string, more: Partial<Tool> = {}): Tool =>
  ({ ...tool({ name, description: name, input: z.object({}), execute: () => name }), ...more }) as Tool

test('agent.with returns an agent that differs in these options, and leaves the agent unchanged (A4)', async () => {
  const ran: string[] = []
  const hook = (name: string): Middleware => ({ name, beforeAgent: () => void ran.push(name) })
  const model = scriptedModel(Array.from({ length: 3 }, () => respond(say('Hi.'))))
  const agent = createAgent({
    name: 'clerk',
    model,
    instructions: 'Be kind.',
    settings: { temperature: 1, seed: 7 },
    tools: [named('a')],
    middleware: [hook('first')],
  })
  const other = agent.with({ settings: { temperature: 0 }, tools: [named('b')], middleware: [hook('second')] })
  await settled(other.run('Go'))
  await settled(agent.run('Go'))
  await settled(other.with({ instructions: 'Be brief.' }).run('Go'))
  expect(other.name).toBe('clerk')
  expect(
    model.requests.map(({ instructions, settings, tools }) => [instructions, settings, tools.map(({ name }) => name)]),
  ).toEqual([
    ['Be kind.', { temperature: 0 }, ['b']],
    ['Be kind.', { temperature: 1, seed: 7 }, ['a']],
    ['Be brief.', { temperature: 0 }, ['b']],
  ])
  expect(ran).toEqual(['second', 'first', 'second'])
})

test('agent.with replaces instructions that are a function, or keeps them (A6)', async () => {
  const model = scriptedModel(Array.from({ length: 3 }, () => respond(say('Hi.'))))
  const agent = createAgent({ model, instructions: (run) => `Run ${run.step}` })
  await settled(agent.with({ maxSteps: 2 }).run('Go'))
  await settled(agent.with({ instructions: 'Plain.' }).run('Go'))
  await settled(agent.with({ instructions: () => 'Other.' }).run('Go'))
  expect(model.requests.map(({ instructions }) => instructions)).toEqual(['Run 0', 'Plain.', 'Other.'])
})

test('an agent made by with has the options of the first agent, whatever was written to them since (A4)', async () => {
  const model = scriptedModel([respond(say('Hi.'))])
  const tools = [named('a')]
  const middleware: Middleware[] = []
  const settings = { temperature: 1 }
  const options = { model, tools, middleware, settings, instructions: 'Be kind.' }
  const agent = createAgent(options)
  tools.push(named('b'))
  middleware.push({
    name: 'late',
    beforeAgent: () => {
      throw new Error('late')
    },
  })
  settings.temperature = 0
  options.instructions = 'Be rude.'
  await settled(agent.with({ maxSteps: 1 }).run('Go'))
  expect(model.requests).toMatchObject([
    { instructions: 'Be kind.', tools: [{ name: 'a' }], settings: { temperature: 1 } },
  ])
})

test('a limit of a tool holds over the runs of both agents, and an interrupted run continues in either (I7, L18)', async () => {
  let atWork = 0
  let most = 0
  const slow = named('slow', {
    concurrency: 1,
    execute: async () => {
      most = Math.max(most, ++atWork)
      await new Promise((resolve) => setTimeout(resolve, 100))
      atWork--
    },
  })
  const model = scriptedModel([
    respond(call('slow')),
    respond(call('slow')),
    respond(say('Done.')),
    respond(say('Done.')),
  ])
  const agent = createAgent({ model, tools: [slow] })
  await settled(Promise.all([agent.run('Go'), agent.with({ maxSteps: 5 }).run('Go')]))
  expect(most).toBe(1)

  const client = tool({ name: 'ask', description: 'a', input: z.object({}) })
  const asking = createAgent({
    model: scriptedModel([respond(call('ask')), respond(say('Done.'))]),
    tools: [client as Tool],
  })
  const first = await settled(asking.run('Go'))
  const answers = { [first.interrupts?.[0]?.id ?? '']: 'yes' }
  expect((await settled(asking.with({ maxSteps: 3 }).resume(first.checkpoint ?? '', answers).result)).text).toBe(
    'Done.',
  )
})

test('an invalid option is a ConfigError of with, as of createAgent (A2)', () => {
  const agent = createAgent({ model: scriptedModel([]) })
  expect(() => agent.with({ maxSteps: 0 })).toThrow('maxSteps: must be a positive integer')
  expect(() => agent.with({ maxStep: 3 } as never)).toThrow('did you mean maxSteps?')
})

test('an agent lists its middleware, to which with can add (A4)', async () => {
  const ran: string[] = []
  const hook = (name: string): Middleware => ({ name, beforeAgent: () => void ran.push(name) })
  const given = [hook('first')]
  const agent = createAgent({ model: scriptedModel([respond(say('Hi.'))]), middleware: given })
  given.push(hook('late'))
  expect(agent.middleware.map(({ name }) => name)).toEqual(['first'])
  expect(Object.isFrozen(agent.middleware)).toBe(true)
  await settled(agent.with({ middleware: [...agent.middleware, hook('innermost')] }).run('Go'))
  expect(ran).toEqual(['first', 'innermost'])
})
