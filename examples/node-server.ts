// The chat handler on `node:http`, without a framework. Below the server the example plays two clients: one reads its turn to the end, the other
// leaves after the first bytes.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { chatHandler } from '@meanwhile/ui/ai-sdk'

const script = [1, 2].map(() => respond(say('Hello. What can I do for you?')))
const model = scriptedModel(script, { pace: { firstToken: 20, betweenTokens: 20 } })
const agent = createAgent({ model })

const threads = createThreads({ agent, store: memoryThreads(), maxRunning: 100, maxWaiting: 200 })
const chat = chatHandler({ threads, open: () => undefined })

function requestOf(message: IncomingMessage): Request {
  const { method = 'GET', url = '/', headersDistinct } = message
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const body = method === 'GET' || method === 'HEAD' ? {} : { body: message, duplex: 'half' as const }
  return new Request(new URL(url, 'http://localhost'), { method, headers, ...body } as RequestInit)
}

async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const { status, headers, body } = await chat(requestOf(message))
    response.writeHead(status, [...headers].flat())
    await pipeline(body ?? [], response) // if the client leaves, the body is cancelled, and the turn continues
  } catch (error) {
    if (!response.headersSent) response.writeHead(500)
    response.end()
    if (Object(error).code !== 'ERR_STREAM_PREMATURE_CLOSE') console.error(error)
  }
}

const server = createServer((message, response) => void serve(message, response))

// From here on the clients.

await once(server.listen(0, '127.0.0.1'), 'listening')
const { port } = server.address() as AddressInfo

const post = (id: string) =>
  fetch(`http://localhost:${port}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      id,
      trigger: 'submit-message',
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    }),
  })

const read = await post('thread-1')
const deltas = [...(await read.text()).matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta)
console.log(read.status, deltas.join(''))

const left = await post('thread-2')
await left.body?.cancel()
console.log((await (await threads.turn('thread-2'))?.result)?.text)
console.log((await fetch(`http://localhost:${port}/api/chat/thread-2`)).status)

await once(server.close(), 'close')
