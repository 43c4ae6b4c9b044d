/** The server of the chat: conversations in a file, the routes of `useChat`, and the page. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { createThreads, type Threads } from '@meanwhile/threads'
import { sqliteThreads } from '@meanwhile/threads/sqlite'
import { chatHandler } from '@meanwhile/ui/ai-sdk'
import { Hono } from 'hono'
import { onThisMachine } from '../shared/local-requests.ts'
import { hasKey } from '../shared/model.ts'
import { chatAgent, contextFrom } from './agent.ts'
import { sqliteTimes } from './sqlite-times.ts'
import type { TimesStore } from './timelines.ts'
import type { Times } from './times.ts'

/** `page` is the folder of the page, and `devtools` their address, if they are on. */
interface Served {
  readonly page: string
  readonly devtools?: string | undefined
}

export function chatRoutes<C>(threads: Threads<C>, times: TimesStore, { page, devtools }: Served) {
  const chat = chatHandler({
    threads,
    // Anyone who can reach the server may read and write all threads, so it only listens on this machine.
    open: () => undefined,
    // A turn keeps the position of the switch, also in another process.
    metadata: (_, { headers }) => ({ early: headers.get('x-early-tools') !== 'off' }),
  })
  const app = new Hono()
  app.all('/api/chat/*', ({ req }) => chat(req.raw))
  app.get('/api/times/:turn', async (c) => {
    const found: Times | null = JSON.parse((await times.read(c.req.param('turn'))) ?? 'null')
    const now = found?.state === 'open' ? { now: Date.now() - found.began } : {}
    return c.json(found ? { ...found, ...now, run: devtools && found.run && `${devtools}/run/${found.run}` } : null)
  })
  app.get('/api/setup', (c) => c.json({ isDemo: !hasKey() }))
  app.use(serveStatic({ root: page }))
  return onThisMachine(app.fetch)
}

/** `file` is the database, and `port` may be 0. */
export async function startServer({
  file,
  port,
  ...served
}: Served & { readonly file: string; readonly port: number }) {
  const store = sqliteThreads(file)
  const times = sqliteTimes(file)
  const threads = createThreads({ agent: chatAgent(times), store, context: contextFrom, lease: 3_000 })
  const server = createAdaptorServer({ fetch: chatRoutes(threads, times, served) })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const { port: actual } = server.address() as AddressInfo
  threads.watch() // continues turns whose server was killed
  const close = async () => {
    const closed = once(server.close(), 'close')
    if ('closeAllConnections' in server) server.closeAllConnections() // the connections of open pages: they reconnect
    await closed
    await threads.close()
    times.close()
    store.close()
  }
  return { url: `http://localhost:${actual}`, close }
}
