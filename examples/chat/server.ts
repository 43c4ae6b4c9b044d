/** The server of the chat: conversations in a file, the routes of `useChat`, and the page. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { createThreads } from '@meanwhile/threads'
import { sqliteThreads } from '@meanwhile/threads/sqlite'
import { chatHandler } from '@meanwhile/ui/ai-sdk'
import { Hono } from 'hono'
import { onThisMachine } from '../shared/local-requests.ts'
import { agent } from './agent.ts'

/** `page` is the folder of the page, `file` the database, and `port` may be 0. */
export async function startServer({ page, file, port }: { page: string; file: string; port: number }) {
  const store = sqliteThreads(file)
  const threads = createThreads({ agent, store, lease: 3_000 })
  threads.watch() // continues turns whose server was killed

  // Anyone who can reach the server may read and write all threads, so it only listens on this machine.
  const chat = chatHandler({ threads, open: () => undefined })
  const app = new Hono()
  app.all('/api/chat/*', ({ req }) => chat(req.raw))
  app.use(serveStatic({ root: page }))

  const server = createAdaptorServer({ fetch: onThisMachine(app.fetch) })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const { port: actual } = server.address() as AddressInfo
  const close = async () => {
    const closed = once(server.close(), 'close')
    if ('closeAllConnections' in server) server.closeAllConnections() // the connections of open pages: they reconnect
    await closed
    await threads.close()
    store.close()
  }
  return { url: `http://localhost:${actual}`, close }
}
