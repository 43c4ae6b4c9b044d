// A chat for `useChat` of the AI SDK: one handler with all routes, and a page that uses them. With a key in the environment it calls the
// real model; without a key, a mocked endpoint.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { chatHandler } from '@meanwhile/ui/ai-sdk'
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  execute: ({ to }) => `Sent to ${to}.`,
})
const model = modelOr([
  respond(say('I write.'), call('send_mail', { to: 'ada@example.org', text: 'Hello.' })),
  respond(say('I have sent it.')),
])

const agent = createAgent({ model, tools: [mail], middleware: [approve({ tools: ['send_mail'] })] })

const threads = createThreads({ agent, store: memoryThreads() })

/** Your own table: the owner of each thread. Your server adds a row when a user begins a chat. */
const owners = new Map([
  ['chat-1', 'ada'],
  ['chat-2', 'bob'],
])

const chat = chatHandler({
  threads,
  allow: (request) => (userOf(request) ? undefined : new Response(null, { status: 401 })),
  open(request, thread) {
    const user = userOf(request)
    return user && owners.get(thread) === user ? { user } : new Response(null, { status: 403 })
  },
})

/** Your own code: returns the user of the session. */
function userOf(request: Request): string | undefined {
  return request.headers.get('authorization')?.replace('Bearer ', '')
}

// The rest runs on the page. `useChat({ id, transport })` of @ai-sdk/react does all of this.

const transport = new DefaultChatTransport<UIMessage>({
  api: 'http://localhost/api/chat',
  headers: { authorization: 'Bearer ada' },
  fetch: (url, init) => chat(new Request(url, init)),
})

async function send(messages: readonly UIMessage[]): Promise<UIMessage> {
  const stream = await transport.sendMessages({
    chatId: 'chat-1',
    messages: [...messages],
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  })
  const last = messages.at(-1)
  let message: UIMessage | undefined
  const continued = last?.role === 'assistant' && { message: last }
  for await (const state of readUIMessageStream({ stream, ...continued })) message = state
  if (!message) throw new Error('the stream had no message')
  return message
}

const question: UIMessage = {
  id: 'm1',
  role: 'user',
  parts: [{ type: 'text', text: 'Send ada@example.org a mail that says hello.' }],
}
const asked = await send([question])
console.log(asked.parts.map((part) => ('state' in part ? `${part.type} ${part.state}` : part.type)).join(', '))

// The user clicks on "allow".
const parts = asked.parts.map((part) =>
  part.type === 'dynamic-tool' && part.state === 'approval-requested'
    ? { ...part, state: 'approval-responded' as const, approval: { id: part.approval.id, approved: true } }
    : part,
)
const answer = await send([question, { ...asked, parts }])
console.log(answer.parts.map((part) => (part.type === 'text' ? part.text : part.type)).join(', '))

// The page is reloaded.
const headers = { authorization: 'Bearer ada' }
const loaded = await chat(new Request('http://localhost/api/chat/chat-1', { headers }))
const { messages } = (await loaded.json()) as { messages: UIMessage[] }
console.log(`${messages.length} messages, the last of ${messages.at(-1)?.parts.length} parts`)

const foreign = await chat(new Request('http://localhost/api/chat/chat-2', { headers }))
console.log(`another user's thread: ${foreign.status}`)
