/** `npm run chat`: builds the page, starts the server, and says where it is. */

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '@meanwhile/core'
import { build } from 'vite'

const HELP = `npm run chat -- [--port 8787] [--database chat.db]

Builds the page of the chat, serves it, and prints its address.

  --port      Default: a free one.
  --database  The file in which conversations are kept. Default: chat.db beside the example.
  --help      Prints this.

OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment: asks the real model. Without a key the model is played from a script.`

function options() {
  try {
    const { values } = parseArgs({
      options: { port: { type: 'string' }, database: { type: 'string' }, help: { type: 'boolean' } },
    })
    const port = Number(values.port ?? 0)
    if (Number.isInteger(port) && port >= 0 && port < 65_536) return { ...values, port }
    throw new Error(`--port must be a number from 0 to 65535, not ${values.port}`)
  } catch (error) {
    console.error(`${messageOf(error)}\n\n${HELP}`)
    process.exit(2)
  }
}

const { port, database, help } = options()
if (help) {
  console.log(HELP)
  process.exit()
}

const page = join(import.meta.dirname, 'dist')
await build({ root: import.meta.dirname, logLevel: 'warn' })
const { startServer } = await import('./server.ts')
const server = await startServer({ page, file: database ?? join(import.meta.dirname, 'chat.db'), port })
console.log(`The chat is at ${server.url} (Ctrl-C ends it)`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.close())
