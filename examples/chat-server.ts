// A chat server: conversations with ids, approval, a stop button, a page that is reloaded, and a server that is restarted. With a
// key in the environment it calls the real model; without a key, a mocked endpoint.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { call, respond, type ScriptResponse, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, type ThreadEvent, type ThreadState, type Threads, type Turn } from '@meanwhile/threads'
import { sqliteThreads } from '@meanwhile/threads/sqlite'
import { z } from 'zod'
import { refusalOf } from './shared/local-requests.ts'
import { modelOr } from './shared/model.ts'

const folder = mkdtempSync(join(tmpdir(), 'meanwhile-'))

const mail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  execute: ({ to }) => {
    console.log(`  mail to ${to}`)
    return 'Sent.'
  },
})

/** The same agent after each start; a scripted model returns the rest of its script. */
function chatAgent(script: readonly ScriptResponse[]) {
  return createAgent({
    name: 'chat',
    model: modelOr(script),
    tools: [mail],
    middleware: [approve({ tools: ['send_mail'] })],
  })
}

const bodies = z.object({
  text: z.string().default(''),
  messageId: z.string().optional(),
  answers: z.record(z.string(), z.json()).default({}),
})

async function* lines(turn: Turn, after: string | null): AsyncGenerator<string> {
  for await (const event of turn.events(after ? { after } : {})) yield `data: ${JSON.stringify(event)}\n\n`
}

/** A client that disconnects stops nothing: it can read on later, after the cursor of the last event that it received. */
async function show(turn: Turn, after: string | null, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  await pipeline(Readable.from(lines(turn, after)), response).catch(() => console.log('  the client has left'))
}

async function answer(threads: Threads, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
  const [id = '', action = ''] = pathname.split('/').slice(1)
  const { text, messageId, answers } = bodies.parse(request.method === 'POST' ? await json(request) : {})
  switch (`${request.method} ${action}`) {
    case 'GET ':
      response.end(JSON.stringify(await threads.read(id)))
      return
    case 'GET events': {
      const turn = await threads.turn(id)
      return turn ? await show(turn, searchParams.get('after'), response) : void response.writeHead(204).end()
    }
    case 'POST ':
      return await show(await threads.send(id, text, messageId ? { messageId } : {}), null, response)
    case 'POST answers': {
      const turn = await threads.answer(id, answers)
      return await show(turn, turn.cursor, response)
    }
    case 'POST stop':
      await threads.stop(id)
  }
  response.end()
}

async function listen(...script: readonly ScriptResponse[]) {
  const store = sqliteThreads(join(folder, 'chat.db'))
  const threads = createThreads({ agent: chatAgent(script), store })
  threads.watch()
  const server = createServer((request, response) => {
    const refusal = refusalOf(request)
    if (refusal) return void response.writeHead(refusal).end()
    answer(threads, request, response).catch((error) => response.writeHead(400).end(String(error)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const close = async () => {
    await once(server.close(), 'close')
    await threads.close()
    store.close()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

// The rest is the client.

const headers = { 'content-type': 'application/json' }
const post = (url: string, body: object = {}) => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })

async function eventsOf(response: Response): Promise<readonly ThreadEvent[]> {
  const blocks = (await response.text()).split('\n\n').filter((block) => block.startsWith('data: '))
  return blocks.map((block) => JSON.parse(block.slice('data: '.length)) as ThreadEvent)
}

const readThread = async (url: string) => (await (await fetch(url)).json()) as ThreadState

try {
  const first = await listen(respond(say('I write.'), call('send_mail', { to: 'ada@example.org', text: 'Hello.' })))
  const message = { text: 'Send ada@example.org a mail that says hello.', messageId: 'message-1' }
  const events = await eventsOf(await post(`${first.url}/thread-7`, message))
  console.log(events.map(({ type }) => type).join(' '))
  await first.close()

  // After a restart: the question and the messages are still there.
  const second = await listen(respond(say('I have sent it.')))
  const { interrupts, messages } = await readThread(`${second.url}/thread-7`)
  console.log(`${messages.length} messages, and asked: ${JSON.stringify(interrupts[0]?.payload)}`)
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, { decision: 'allow' }]))
  await (await post(`${second.url}/thread-7/answers`, { answers })).text()
  // Sent again, as by a client whose connection was cut: nothing happens twice.
  await (await post(`${second.url}/thread-7`, message)).text()
  await post(`${second.url}/thread-7/stop`)
  const state = await readThread(`${second.url}/thread-7`)
  console.log(`${state.status}: ${state.messages.map(({ message }) => message.role).join(' ')}`)
  await second.close()
} finally {
  rmSync(folder, { recursive: true })
}
