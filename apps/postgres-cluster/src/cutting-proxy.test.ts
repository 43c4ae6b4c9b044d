import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { cuttingProxy } from './cutting-proxy.ts'

test('a connection is cut once, also if its client sends more before the cut', async () => {
  let received = ''
  const server = createServer((socket) =>
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString()
      socket.write('answer')
    }),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const proxy = await cuttingProxy(`postgres://127.0.0.1:${port}/test`)
  const open = () => connect(Number(new URL(proxy.url).port), '127.0.0.1').on('error', () => {})
  try {
    const [client, other] = [open(), open()]
    let times = 0
    const cut = proxy.cut('before', 'SELECT 1', async () => {
      times++
      await new Promise((resolve) => client.write('SELECT 2', resolve))
      // When another connection has its answer, the proxy could have read this.
      other.write('SELECT 3')
      await once(other, 'data')
    })
    client.write('SELECT 1')
    await cut
    expect([times, received]).toEqual([1, 'SELECT 3'])
  } finally {
    await proxy.close()
    server.close()
  }
})
