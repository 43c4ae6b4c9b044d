/** `npm run chat`: builds the page, starts the server, and prints its address. */

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '@meanwhile/core'
import { build } from 'vite'

const HELP = `npm run chat -- [--port 8787] [--database chat.db | --postgres]

Builds the page of the chat, serves it, and prints its address.

  --port      Default: a free port.
  --database  The file that stores conversations. Default: chat.db in the folder of the example.
  --postgres  Two servers and two workers over PostgreSQL: the database in DATABASE_URL, or otherwise a temporary server, which is removed at the end.
  --help      Prints this.

OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment: uses the real model. Without a key a script plays the model.`

function options() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string' },
        database: { type: 'string' },
        postgres: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
    if (values.postgres && values.database !== undefined) throw new Error('--database is a file: not with --postgres')
    const port = Number(values.port ?? 0)
    if (Number.isInteger(port) && port >= 0 && port < 65_536) return { ...values, port }
    throw new Error(`--port must be a number from 0 to 65535, not ${values.port}`)
  } catch (error) {
    console.error(`${messageOf(error)}\n\n${HELP}`)
    process.exit(2)
  }
}

const { port, database, postgres, help } = options()
if (help) {
  console.log(HELP)
  process.exit()
}

const page = join(import.meta.dirname, 'dist')
await build({ root: import.meta.dirname, logLevel: 'warn' })

async function start() {
  if (!postgres) {
    const { startServer } = await import('./server.ts')
    return await startServer({ page, file: database ?? join(import.meta.dirname, 'chat.db'), port })
  }
  const { startChatCluster } = await import('./cluster/start.ts')
  const { urls, close } = await startChatCluster({ page, port })
  return { url: urls.join(' and at '), close }
}

try {
  const { url, close } = await start()
  console.log(`The chat is at ${url} (Ctrl-C ends it)`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close())
} catch (error) {
  const hint = postgres ? ' DATABASE_URL can name a database.' : ''
  console.error(messageOf(error) + hint)
  process.exitCode = 1
}
