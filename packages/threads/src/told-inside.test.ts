import { call, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import {
  agentTool,
  createAgent,
  interrupt,
  type Model,
  type ModelRequest,
  type Tool,
  textOf,
  tool,
} from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createThreads, memoryThreads } from './index.ts'

// What the next turn reads of an agent inside a call whose question was open when the turn ended.

const pay = tool({
  name: 'pay',
  description: 'Pays after a question.',
  input: z.object({ order: z.string() }),
  execute: ({ order }, { answers }) => (answers.length > 0 ? `Paid ${order}.` : interrupt({ order })),
})

function modelOf(answer: (request: ModelRequest) => ScriptResponse): Model {
  return { provider: 's', id: 's', stream: (request) => scriptedModel([answer(request)]).stream(request) }
}

/** `sent`: what the model of the outer agent was sent. */
function opened({ background, deep }: { readonly background: boolean; readonly deep: boolean }) {
  const sent: ModelRequest['messages'][] = []
  const clerk = createAgent({
    name: 'clerk',
    description: 'Pays.',
    model: modelOf(({ messages }) =>
      messages.length > 1
        ? respond(say('All paid.'))
        : respond(call('pay', { order: 'A' }, { id: 'a' }), call('pay', { order: 'B' }, { id: 'b' })),
    ),
    tools: [pay],
  })
  const asks = (name: string) =>
    modelOf(({ messages }) => {
      sent.push(messages)
      const hasCalled = messages.some(({ role }) => role === 'assistant')
      return hasCalled ? respond(say('Well.')) : respond(call(name, { request: 'A and B' }, { id: `c ${name}` }))
    })
  const manager = createAgent({
    name: 'manager',
    description: 'Asks the clerk.',
    model: asks('clerk'),
    tools: [agentTool(clerk)],
  })
  const inner = { ...agentTool(deep ? manager : clerk), background } as Tool
  const agent = createAgent({ name: 'desk', model: asks(inner.name), tools: [inner] })
  return { threads: createThreads({ agent, store: memoryThreads() }), sent }
}

const places = [
  { background: false, deep: false },
  { background: false, deep: true },
  { background: true, deep: false },
  { background: true, deep: true },
]
const endings = ['message', 'stop', 'answer and stop'] as const

test.each(places.flatMap((place) => endings.map((how) => ({ ...place, how }))))(
  'the next turn reads what an agent inside a call has done when a $how ends the turn (background: $background, deeper: $deep) (TH1, TH2)',
  async ({ how, ...place }) => {
    const { threads, sent } = opened(place)
    await (await threads.send('t', 'go')).result
    const idOf = async (order: string) =>
      (await threads.read('t')).interrupts.find(({ payload }) => JSON.stringify(payload) === JSON.stringify({ order }))
        ?.id ?? ''
    await (await threads.answer('t', { [await idOf('A')]: true })).result
    if (how === 'stop') await threads.stop('t')
    if (how === 'answer and stop')
      await Promise.all([threads.answer('t', { [await idOf('B')]: true }).catch(() => undefined), threads.stop('t')])
    await (await threads.send('t', 'Never mind B.')).result
    const messages = sent.at(-1) ?? []
    const read = messages.filter(({ role }) => role !== 'assistant').map(textOf)
    expect(read.filter((text) => text.includes('pay {"order":"A"} returned: Paid A.'))).toHaveLength(1)
    expect(read.filter((text) => text.startsWith('The background call'))).toHaveLength(place.background ? 1 : 0)
    expect(read.join()).not.toContain('Not run')
    expect((await threads.read('t')).status).toBe('idle')
  },
)

test('an answer to a question that is not open is refused with the reason, if that is known (TH8)', async () => {
  const { threads } = opened({ background: false, deep: false })
  await (await threads.send('t', 'go')).result
  const { interrupts } = await threads.read('t')
  const id = interrupts[0]?.id ?? ''
  const [first, second] = await Promise.allSettled([
    threads.answer('t', { [id]: true }),
    threads.answer('t', { [id]: true }),
  ])
  expect(first).toMatchObject({ status: 'fulfilled' })
  expect(second).toMatchObject({
    reason: { name: 'UnknownInterruptError', ids: [id], message: expect.stringContaining(': it was answered') },
  })
  if (first.status === 'fulfilled') await first.value.result
  await threads.stop('t')
  await expect(threads.answer('t', { [interrupts[1]?.id ?? '']: true })).rejects.toThrow(
    'no turn of the thread waits for an answer',
  )
})
