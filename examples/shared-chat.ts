// A thread that a guest and an admin share: each turn has the rights of the user who began it, no matter who answers its questions. With a key in the
// environment it calls the real model; without a key, a mocked endpoint.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { chatHandler } from '@meanwhile/ui/ai-sdk'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const person = z.object({ user: z.string() })

const refund = tool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ order: z.string() }),
  context: z.object({ user: z.string(), limit: z.number() }),
  execute: ({ order }, { context: { user, limit } }) => `Refunded ${order} for ${user}, who may refund up to ${limit}.`,
})
const model = modelOr([
  respond(call('refund', { order: 'A-17' })),
  respond(say('The order is refunded.')),
  respond(say('Hello.')),
])
const agent = createAgent({ model, tools: [refund], middleware: [approve({ tools: ['refund'] })] })

/** Your own tables: who may do what, and who is in which thread. */
const limits = new Map([
  ['gil', 50],
  ['ada', 1_000],
])
const members = new Map([['chat-1', ['gil', 'ada']]])

const rightsOf = (user: string) => ({ user, limit: limits.get(user) ?? 0 })

const senderOf = (metadata: unknown) => person.parse(metadata).user

const threads = createThreads({
  agent,
  store: memoryThreads(),
  // Called for every run of a turn, also after an answer: the run gets the rights of the user who sent the message.
  context: ({ metadata }) => rightsOf(senderOf(metadata)),
})

const chat = chatHandler({
  threads,
  async open(request, thread, { action, turn }) {
    const user = userOf(request)
    if (!user || !members.get(thread)?.includes(user)) return new Response(null, { status: 403 })
    // A guest may only change its own turns. The admin may change all.
    const changed = await turn()
    const isOwn = changed === undefined || senderOf(changed.metadata) === user
    if (!isOwn && user !== 'ada') return new Response(`You may not ${action} this.`, { status: 403 })
    return rightsOf(user)
  },
  metadata: (context) => ({ user: context?.user ?? '' }),
  by: (context) => context?.user,
})

/** Your own code: returns the user of the session. */
function userOf(request: Request): string | undefined {
  return request.headers.get('authorization')?.replace('Bearer ', '')
}

// The rest is what the pages of the two users send.

async function post(user: string, message: object, more: object = {}): Promise<string> {
  const headers = { authorization: `Bearer ${user}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ id: 'chat-1', messages: [message], ...more })
  const response = await chat(new Request('http://localhost/api/chat', { method: 'POST', headers, body }))
  await response.body?.cancel()
  return `${user}: ${response.status}`
}

const said = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })

console.log(await post('gil', said('m1', 'Refund my order A-17.')))
await (await threads.turn('chat-1'))?.result

// The admin allows it. The turn keeps the rights of the guest.
const { interrupts } = await threads.read('chat-1')
const answers = Object.fromEntries(interrupts.map(({ id }) => [id, { decision: 'allow' }]))
console.log(await post('ada', { id: 'a1', role: 'assistant', parts: [] }, { answers }))
await (await threads.turn('chat-1'))?.result
const { messages, decisions } = await threads.read('chat-1')
for (const { message } of messages) if (message.role === 'tool') console.log(message.output)
console.log(decisions.map(({ toolName, decision, by }) => `${toolName}: ${decision} by ${by}`).join())

// The guest may not replace a turn of the admin, and a user who is not in the thread may do nothing.
console.log(await post('ada', said('m2', 'Hello.')))
await (await threads.turn('chat-1'))?.result
console.log(await post('gil', said('m2', 'Refund all orders.'), { messageId: 'm2' }))
console.log(await post('eve', said('m3', 'Hello.')))
