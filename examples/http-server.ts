// An agent behind HTTP: its events as server-sent events, a call that waits for approval, and the approval in a second request, after
// the server was restarted. A client that disconnects stops its run. With a key in the environment it calls the real model; without a key,
// a mocked endpoint.

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
import { type Agent, type AgentEvent, type AgentRun, createAgent, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { fileStore } from '@meanwhile/stores/file'
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
function mailAgent(...script: readonly ScriptResponse[]): Agent {
  const middleware = [approve({ tools: ['send_mail'] })]
  return createAgent({
    name: 'mail',
    model: modelOr(script),
    tools: [mail],
    middleware,
    checkpoints: fileStore(folder),
  })
}

async function* lines(run: AgentRun): AsyncGenerator<string> {
  try {
    for await (const event of run) yield `data: ${JSON.stringify(event)}\n\n`
  } catch (error) {
    // The reader also throws the error that ends a run. It becomes JSON without its stack.
    yield `event: error\ndata: ${JSON.stringify(error)}\n\n`
  }
}

/** Writes as fast as the client reads. If the client disconnects, the reader of the events ends, which aborts the run. */
async function send(run: AgentRun, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  await pipeline(Readable.from(lines(run)), response).catch(() => console.log('  the client has left'))
}

/** `POST /runs` starts a run; `POST /runs/:id` has the answers to its questions, by their ids. */
async function answer(agent: Agent, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, , id] = request.url?.split('/') ?? []
  const body = bodies.parse(await json(request))
  await send(id === undefined ? agent.stream(body.input) : agent.resume(id, body.answers), response)
}

const bodies = z.object({ input: z.string().default(''), answers: z.record(z.string(), z.json()).default({}) })

async function listen(agent: Agent) {
  const server = createServer((request, response) => {
    const refusal = refusalOf(request)
    if (refusal) return void response.writeHead(refusal).end()
    answer(agent, request, response).catch(() => response.writeHead(400).end())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => once(server.close(), 'close') }
}

// The rest is the client.

const headers = { 'content-type': 'application/json' }
const post = (url: string, body: object) => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })

async function eventsOf(response: Response): Promise<readonly AgentEvent[]> {
  const blocks = (await response.text()).split('\n\n').filter((block) => block.startsWith('data: '))
  return blocks.map((block) => JSON.parse(block.slice('data: '.length)) as AgentEvent)
}

try {
  const story = await listen(mailAgent(respond(say('Once upon a time there was an agent, and it talked and talked.'))))
  const left = await post(`${story.url}/runs`, { input: 'Tell me a story.' })
  await left.body?.cancel()
  await story.close()

  const input = 'Send ada@example.org a mail that says hello.'
  const first = await listen(mailAgent(respond(call('send_mail', { to: 'ada@example.org', text: 'Hello.' }))))
  const asked = (await eventsOf(await post(`${first.url}/runs`, { input }))).at(-1)
  await first.close()
  if (asked?.type !== 'run-end' || asked.result.status !== 'interrupted') throw new Error('it did not ask')
  const { interrupts } = asked.result
  for (const { payload } of interrupts) console.log('asked:', JSON.stringify(payload))

  const second = await listen(mailAgent(respond(say('I have sent it.'))))
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, { decision: 'allow' }]))
  const events = await eventsOf(await post(`${second.url}/runs/${asked.runId}`, { answers }))
  for (const event of events) if (event.type === 'run-end') console.log(event.result.text)
  await second.close()
} finally {
  rmSync(folder, { recursive: true })
}
