import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { ask } from '../test/ask.ts'
import { chat } from '../test/wires.ts'
import { openai } from './openai.ts'

test('one connection serves one request after the other, though a body ends later than its protocol', async () => {
  let connections = 0
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of chat.hello) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.write('data: [DONE]\n\n', () => void setTimeout(5).then(() => response.end()))
  })
  server.on('connection', () => {
    connections += 1
  })
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const client = new OpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 })
    const model = openai({ client, model: 'm', api: 'chat' })
    for (let i = 0; i < 3; i += 1) {
      await ask(model)
      await setTimeout(20)
    }
    expect(connections).toBe(1)
  } finally {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
})
