import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import { createAgent, interrupt, type Message, type Middleware, runTool, type Tool, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  await vi.runAllTimersAsync()
  return await work
}

/** Logs the messages that each call receives. */
function noting(name: string, more: Partial<Tool> = {}) {
  const noted: (readonly Message[])[] = []
  const made = tool({
    name,
    description: name,
    input: z.object({}),
    effect: 'read',
    execute: (_, { messages }) => void noted.push(messages),
  }) as Tool
  return { noted, tool: { ...made, ...more } }
}

test.each([[[]], [[early]]])(
  'a call receives the history that its model received, frozen, early or not (H9) %#',
  async (middleware) => {
    const look = noting('look')
    const model = scriptedModel([
      respond(say('Hm.'), call('look'), call('look')),
      respond(call('look')),
      respond(say('Done.')),
    ])
    const agent = createAgent({ model, tools: [look.tool], middleware })
    await settled(agent.run('Go'))
    expect(look.noted).toEqual([0, 0, 1].map((request) => model.requests[request]?.messages))
    for (const messages of look.noted) expect(Object.isFrozen(messages) && messages.every(Object.isFrozen)).toBe(true)
  },
)

test('it does not contain what an afterModel changes or a wrapModel sent; it contains what a beforeModel left (C7, C8)', async () => {
  const look = noting('look')
  const note = (content: string): Message => ({ role: 'user', content })
  const changes: Middleware = {
    name: 'changes',
    beforeModel: ({ messages }) => ({ messages: [...messages, note('before')] }),
    wrapModel: (request, next) => next({ ...request, messages: [...request.messages, note('wrapped')] }),
    afterModel: ({ messages }) => ({ messages: [note('after'), ...messages] }),
  }
  const model = scriptedModel([respond(call('look')), respond(say('Done.'))])
  await settled(createAgent({ model, tools: [look.tool], middleware: [changes] }).run('Go'))
  expect(look.noted).toEqual([[note('Go'), note('before')]])
})

test('after a resume a call receives the history without the response that requested it (L7)', async () => {
  const noted: (readonly Message[])[] = []
  const ask = tool({
    name: 'ask',
    description: 'a',
    input: z.object({}),
    execute: (_, { messages, answers }) => {
      noted.push(messages)
      if (answers.length === 0) throw interrupt('Sure?')
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('ask')), respond(say('Done.'))]),
    tools: [ask as Tool],
  })
  const first = await settled(agent.run('Go'))
  await settled(agent.resume(first.checkpoint ?? '', { [first.interrupts?.[0]?.id ?? '']: 'yes' }).result)
  expect(noted).toEqual([[{ role: 'user', content: 'Go' }], [{ role: 'user', content: 'Go' }]])
  expect(noted.every(Object.isFrozen)).toBe(true)
})

test('a background call that begins in a later step receives the history of its own step (I15)', async () => {
  const look = noting('look', { background: true, concurrency: 1 })
  const slow = {
    ...look.tool,
    execute: async (...given: Parameters<NonNullable<Tool['execute']>>) => {
      await look.tool.execute?.(...given)
      await new Promise((resolve) => setTimeout(resolve, 100))
    },
  }
  const model = scriptedModel([
    respond(call('look'), call('look')),
    respond(call('pause')),
    respond(say('Done.')),
    respond(say('Done.')),
  ])
  const pause = tool({
    name: 'pause',
    description: 'p',
    input: z.object({}),
    execute: () => new Promise((resolve) => setTimeout(resolve, 150)),
  })
  await settled(createAgent({ model, tools: [slow, pause as Tool] }).run('Go'))
  expect(look.noted).toEqual([[{ role: 'user', content: 'Go' }], [{ role: 'user', content: 'Go' }]])
})

test('a call that a hook makes before the model call receives the history so far; a tool without a run receives none (I11)', async () => {
  const look = noting('look')
  const hook: Middleware = {
    name: 'hook',
    async beforeAgent(_, run) {
      await run.callTool({ type: 'tool-call', id: 'own', name: 'look', input: {} })
    },
  }
  await settled(
    createAgent({ model: scriptedModel([respond(say('Hi.'))]), tools: [look.tool], middleware: [hook] }).run('Go'),
  )
  await settled(runTool(look.tool, {}).result)
  expect(look.noted).toEqual([[{ role: 'user', content: 'Go' }], []])
})
