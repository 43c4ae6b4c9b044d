// An agent in the terminal. It streams its answer, asks before it sends a mail, and keeps the conversation in a file. Ctrl-C stops it cleanly, in
// the middle of an answer or at a question: the next start continues from there. With a key in the environment it calls the real model.

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { createAgent, textOf, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { escapeInvisible } from '@meanwhile/middleware/escape-invisible'
import { createThreads, type Turn } from '@meanwhile/threads'
import { sqliteThreads } from '@meanwhile/threads/sqlite'
import { z } from 'zod'
import { demoModel } from './shared/demo-model.ts'
import { travelTools } from './shared/demo-tools.ts'

const stop = new AbortController()
const terminal = createInterface({ input: process.stdin })
// Not question(), which fails when the input comes from a file or a pipe that has ended.
const lines = terminal[Symbol.asyncIterator]()

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  execute: ({ to }) => `The mail to ${to} is sent.`,
})
// Calls of one response ask at the same time, and a terminal shows one question after the other.
let asked: Promise<unknown> = Promise.resolve()
function afterEarlier<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const answer = asked.then(ask)
  asked = answer.catch(() => undefined)
  return answer
}

const approval = approve({
  tools: ['send_mail'],
  ask: ({ tool, input }) =>
    afterEarlier(async () => {
      // The model has written the input: no character of it may clear the screen or hide a part of it.
      process.stdout.write(`\n${tool} ${escapeInvisible(JSON.stringify(input))}\nAllow it? (y/n)`)
      const { value } = await lines.next()
      return value === 'y' ? { decision: 'allow' } : { decision: 'deny', reason: 'the user said no' }
    }),
})
const tools = [...travelTools, sendMail]
const agent = createAgent({ name: 'terminal', model: demoModel(), tools, middleware: [approval] })
const store = sqliteThreads(process.argv[2] ?? join(tmpdir(), 'meanwhile-terminal-agent.db'))
const threads = createThreads({ agent, store })

async function show(turn: Turn, after?: string) {
  for await (const event of turn.events({ signal: stop.signal, ...(after && { after }) })) {
    if (event.type === 'text-delta') process.stdout.write(escapeInvisible(event.delta))
    if (event.type === 'turn-resumed') process.stdout.write('\n… ')
    if (event.type === 'turn-end')
      process.stdout.write(event.error ? `\n${escapeInvisible(event.error.message)}\n> ` : '\n> ')
  }
}

process.once('SIGINT', () => {
  stop.abort()
  void threads.close().then(() => terminal.close())
})
try {
  await threads.recover()
  const { messages, status, cursor } = await threads.read('main')
  for (const { message } of messages) if (message.role !== 'tool') console.log(escapeInvisible(textOf(message)))
  const open = await threads.turn('main')
  if (open && status !== 'idle') await show(open, cursor)
  else process.stdout.write('> ')
  for await (const line of lines) await show(await threads.send('main', line))
} catch (error) {
  if (!stop.signal.aborted) throw error
} finally {
  await threads.close()
  terminal.close()
  store.close()
}
