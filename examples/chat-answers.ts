// A page that sends the answer on each card at once, also while other cards still ask. With a key in the environment it calls the real model; without
// a key, a mocked endpoint.

import { Chat } from '@ai-sdk/react'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { type ChatMessage, chatHandler } from '@meanwhile/ui/ai-sdk'
import { DefaultChatTransport } from 'ai'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  execute({ to }) {
    console.log(`  a mail to ${to}`)
    return `Sent to ${to}.`
  },
})
const model = modelOr([
  respond(
    call('send_mail', { to: 'ada@example.org', text: 'Hello.' }),
    call('send_mail', { to: 'bob@example.org', text: 'Hello.' }),
  ),
  respond(say('I have sent one of them.')),
])
const agent = createAgent({ model, tools: [mail], middleware: [approve({ tools: ['send_mail'] })] })
const threads = createThreads({ agent, store: memoryThreads() })
// It has one user. Yours must check who may read and write the thread.
const chat = chatHandler({ threads, open: () => undefined })

// The rest runs on the page: `useChat` of @ai-sdk/react has the same `sendMessage` and `messages`.

const page = new Chat<ChatMessage>({
  transport: new DefaultChatTransport({
    api: 'http://localhost/api/chat',
    fetch: (url, init) => chat(new Request(url, init)),
  }),
})

/** For the buttons of a card: `id` is its `part.approval.id`. Show them only while `status` is `ready`. */
const answer = (id: string, decision: 'allow' | 'deny') =>
  page.sendMessage(undefined, { body: { answers: { [id]: { decision } } } })

const asking = () =>
  page.lastMessage?.parts.flatMap((part) =>
    part.type === 'dynamic-tool' && part.state === 'approval-requested' ? [part.approval.id] : [],
  ) ?? []

await page.sendMessage({ text: 'Send Ada and Bob a mail that says hello, both at once.' })
for (const decision of ['allow', 'deny'] as const) {
  const [first] = asking()
  console.log(`cards that ask: ${asking().length}; the user clicks on ${decision}`)
  if (first) await answer(first, decision)
}
console.log(page.lastMessage?.parts.map((part) => ('text' in part ? part.text : '')).join(''))
