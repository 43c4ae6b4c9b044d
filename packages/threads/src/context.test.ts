import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { contextOf, createAgent, interrupt, tool } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { shown } from '../test/chat.ts'
import { createThreads, memoryThreads, type TurnInfo } from './index.ts'

/** Threads with a tool that needs approval and returns the tenant from its context. */
function opened(made: (turn: TurnInfo) => unknown) {
  const did: string[] = []
  const tenant = contextOf(z.object({ tenant: z.string() }))
  const work = tool({
    name: 'work',
    description: 'Works.',
    input: z.object({}),
    context: z.object({ tenant: z.string() }),
    execute: (_, { context, answers }) => {
      if (answers.length === 0) interrupt('Really?')
      did.push(`${context.tenant} ${JSON.stringify(answers)}`)
      return 'done'
    },
  })
  const script = scriptedModel(
    Array.from({ length: 9 }, () => ({ messages }) => {
      return messages.at(-1)?.role === 'tool' ? respond(say('Done.')) : respond(call('work'))
    }),
  )
  const middleware = [{ name: 'tenancy', context: tenant }]
  const agent = createAgent({ model: script, tools: [work], middleware })
  return { did, threads: createThreads({ agent, store: memoryThreads(), context: made }) }
}

test('a context can be passed with the message and with the answer; otherwise the option context makes it (TH10)', async () => {
  const made: unknown[] = []
  const { did, threads } = opened((turn) => {
    made.push(turn.metadata)
    return { tenant: 'made' }
  })
  const answers = async () => ({ [(await threads.read('t')).interrupts[0]?.id ?? '']: 'yes' })
  await (await threads.send('t', 'one', { context: { tenant: 'acme' }, metadata: { n: 1 } })).result
  expect(made).toEqual([])
  await (await threads.answer('t', await answers())).result
  await (await threads.send('t', 'two', { metadata: { n: 2 } })).result
  await (await threads.answer('t', await answers(), { context: { tenant: 'given' } })).result
  expect(did).toEqual(['made ["yes"]', 'given ["yes"]'])
  expect(made).toEqual([{ n: 1 }, { n: 2 }])
})

test('the context of a message that waits in the queue is kept until its turn begins (TH10)', async () => {
  const seen: unknown[] = []
  const note = tool({
    name: 'note',
    description: 'Notes.',
    input: z.object({}),
    context: z.object({ tenant: z.string() }),
    execute: (_, { context }) => {
      seen.push(context.tenant)
      return 'noted'
    },
  })
  const model = scriptedModel([1, 2, 3].flatMap(() => [respond(call('note')), respond(say('Done.'))]))
  const agent = createAgent({ model, tools: [note] })
  const threads = createThreads({ agent, store: memoryThreads(), context: () => undefined })
  const tenants = ['acme', 'globex', 'initech']
  const turns = await Promise.all(tenants.map((tenant) => threads.send('t', tenant, { context: { tenant } })))
  for (const turn of turns) expect(await turn.result).toMatchObject({ status: 'completed' })
  expect(seen).toEqual(tenants)
})

test('an answer with a context that does not fit fails the turn, and a retry does not ask again (TH4, TH8, TH10)', async () => {
  const { did, threads } = opened(() => ({}))
  const context = { tenant: 'acme' }
  const turn = await threads.send('t', 'go', { context })
  const { interrupts = [] } = await turn.result
  await threads.answer('t', { [interrupts[0]?.id ?? '']: 'yes' }).catch(() => undefined)
  expect(await turn.result).toMatchObject({ status: 'failed', error: { name: 'ContextError' } })
  expect(did).toEqual([])
  expect(await (await threads.retry('t', { context })).result).toMatchObject({ status: 'completed' })
  expect(did).toEqual(['acme ["yes"]'])
  expect(shown(await threads.read('t'))).toEqual(['user: go', 'assistant: [work]', 'tool: done', 'assistant: Done.'])
})
