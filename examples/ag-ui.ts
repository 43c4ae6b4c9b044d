// Threads for clients of AG-UI: one endpoint, and an `HttpAgent` that uses it. With a key in the environment it calls the real model;
// without a key, a mocked endpoint.

import { HttpAgent, type Message } from '@ag-ui/client'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { agUiHandler } from '@meanwhile/ui/ag-ui'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  execute: ({ to }) => `Sent to ${to}.`,
})
const agent = createAgent({
  model: modelOr([
    respond(say('I write.'), call('send_mail', { to: 'ada@example.org', text: 'Hello.' })),
    respond(say('I have sent it.')),
  ]),
  tools: [mail],
  middleware: [approve({ tools: ['send_mail'] })],
})

const threads = createThreads({ agent, store: memoryThreads() })

/** Your own table: the owner of each thread. Your server adds a row when a user begins a chat. */
const owners = new Map([
  ['chat-1', 'ada'],
  ['chat-2', 'bob'],
])

const chat = agUiHandler({
  threads,
  open(request, thread) {
    const user = userOf(request)
    return user && owners.get(thread) === user ? { user } : new Response(null, { status: 403 })
  },
})

/** Your own code: returns the user of the session. */
function userOf(request: Request): string | undefined {
  return request.headers.get('authorization')?.replace('Bearer ', '')
}

// The rest runs on the page.

const connect = (threadId: string) =>
  new HttpAgent({
    url: 'http://localhost/api/ag-ui',
    threadId,
    headers: { authorization: 'Bearer ada' },
    fetch: (url, init) => chat(new Request(url, init)),
  })

function inShort(message: Message): string {
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []).map((one) => `[${one.function.name}]`) : []
  const text = typeof message.content === 'string' ? message.content : ''
  return [text, ...calls].join(' ')
}

const page = connect('chat-1')
page.addMessage({ id: 'm1', role: 'user', content: 'Send ada@example.org a mail that says hello.' })
await page.runAgent()

const [question] = page.pendingInterrupts
console.log(question?.message) // The user is asked to allow send_mail.

// The user clicks on "allow".
await page.runAgent({
  resume: [{ interruptId: question?.id ?? '', status: 'resolved', payload: { approved: true } }],
})
console.log(page.messages.map(inShort))

// The page is reloaded: it runs the agent without a message, and gets the whole conversation.
const loaded = connect('chat-1')
await loaded.runAgent()
console.log(loaded.messages.length === page.messages.length)
