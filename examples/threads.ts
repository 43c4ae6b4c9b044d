// The shortest program with threads: a stored conversation, a question, and its answer.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { z } from 'zod'

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string() }),
  execute: ({ to }) => `Sent to ${to}.`,
})
const model = scriptedModel([
  respond(say('Hello.')),
  respond(say('I write to Ada.'), call('send_mail', { to: 'ada@example.org' })),
  respond(say('Done.')),
])
const agent = createAgent({ model, tools: [mail], middleware: [approve({ tools: ['send_mail'] })] })

const threads = createThreads({ agent, store: memoryThreads() })
await (await threads.send('thread-7', 'Hello')).result

const turn = await threads.send('thread-7', 'Write to Ada.')
const { interrupts = [] } = await turn.result
await threads.answer('thread-7', { [interrupts[0]?.id ?? '']: { decision: 'allow' } })
console.log((await turn.result).text) // Done.

const { messages } = await threads.read('thread-7')
console.log(messages.map(({ message }) => message.role).join(' ')) // user assistant user assistant tool assistant
