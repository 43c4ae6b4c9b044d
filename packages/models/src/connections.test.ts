import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ask } from '../test/ask.ts'
import { chat, type TestWire, wires } from '../test/wires.ts'

/** A server that sends more data 5 ms after the end of the protocol, and then ends the body. */
async function lateServer(wire: TestWire) {
  const state = { connections: 0 }
  const frames = (events: readonly object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(frames(wire.hello) + (wire === chat ? 'data: [DONE]\n\n' : ''), () => {
      void setTimeout(5).then(() => response.end(frames(wire.call('{}'))))
    })
  })
  server.on('connection', () => {
    state.connections += 1
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const fetch: typeof globalThis.fetch = (input, init) => {
    const { pathname } = new URL(new Request(input, init).url)
    return globalThis.fetch(`http://127.0.0.1:${port}${pathname}`, init)
  }
  const close = async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
  return { state, fetch, close }
}

test.each(wires)(
  '$name: one connection serves one request after the other, even if a body continues after its protocol (P1, qT13)',
  async (wire) => {
    const { state, fetch, close } = await lateServer(wire)
    try {
      for (let i = 0; i < 3; i += 1) {
        const { message } = await ask(wire.model(fetch))
        expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], finishReason: 'stop' })
        await setTimeout(20)
      }
      expect(state.connections).toBe(1)
    } finally {
      await close()
    }
  },
)
