/**
 * A chat server in its own process, which reports what it took. Its arguments are the set-up, the URL of the model, the file of a SQLite database, and the
 * URL of a PostgreSQL database.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { messageOf } from '@meanwhile/core'
import { Pool } from 'pg'
import { type ChatServer, openServer } from './chat-servers.ts'
import { countStatements, counts } from './counts.ts'
import { served } from './http.ts'
import { postgresCpu } from './postgres-cpu.ts'
import { isSetUp, setUpOf } from './setups.ts'

export type Request =
  /** Open the server. */
  | { readonly type: 'open' }
  /** Count from now on. */
  | { readonly type: 'begin' }
  /** What it took since then. */
  | { readonly type: 'end' }
  | { readonly type: 'seed'; readonly threads: readonly string[]; readonly turns: number }

export interface Took {
  /** CPU time of this process, in milliseconds. */
  readonly cpuMs: number
  /** CPU time of PostgreSQL, in milliseconds; absent where it cannot be read. */
  readonly postgresMs?: number
  readonly statements: number
  readonly bytes: number
  readonly reads: number
  /** The delay of the event loop that 99 % of its turns do not exceed, in milliseconds. */
  readonly loopMs: number
}

export type Answer = Took | { readonly port: number } | { readonly problem: string }

interface Mark {
  readonly cpu: NodeJS.CpuUsage
  readonly postgres: number | undefined
  readonly counts: typeof counts
}

const [, , name = '', modelUrl = '', file = '', url = ''] = process.argv
/** Milliseconds between two looks at the event loop. */
const RESOLUTION = 10

countStatements()
// Opening one takes PostgreSQL 40 ms of CPU, so connections stay open between two rounds.
const pool = new Pool({ connectionString: url, max: 10, idleTimeoutMillis: 0 })
pool.on('error', (error) => console.error(error.message))
const loop = monitorEventLoopDelay({ resolution: RESOLUTION })
let opened:
  | { readonly server: ChatServer; readonly port: number; readonly postgres: () => number | undefined }
  | undefined
let mark: Mark | undefined

process.on('message', (request: Request) => {
  void answerTo(request)
    .catch((error: unknown): Answer => ({ problem: messageOf(error) }))
    .then((answer) => process.send?.(answer))
})
// The server and its connections keep this process alive.
process.on('disconnect', () => process.exit())

async function answerTo(request: Request): Promise<Answer> {
  opened ??= await open()
  const { server, port, postgres } = opened
  const { type } = request
  if (type === 'seed') await Promise.all(request.threads.map((thread) => server.seed(thread, request.turns)))
  if (type === 'begin') {
    loop.reset()
    mark = { cpu: process.cpuUsage(), postgres: postgres(), counts: { ...counts } }
  }
  return type === 'end' && mark ? took(mark, postgres()) : { port }
}

async function open(): Promise<NonNullable<typeof opened>> {
  if (!isSetUp(name)) throw new Error(`there is no set-up ${name}`)
  const setUp = setUpOf(name)
  const server = await openServer(setUp, { modelUrl, file, pool })
  loop.enable()
  const postgres = setUp.store === 'postgres' ? await postgresCpu(pool) : () => undefined
  return { server, port: await served(server.handle), postgres }
}

function took({ cpu, postgres, counts: before }: Mark, postgresNow: number | undefined): Took {
  const { user, system } = process.cpuUsage(cpu)
  return {
    cpuMs: (user + system) / 1_000,
    ...(postgres !== undefined && postgresNow !== undefined && { postgresMs: postgresNow - postgres }),
    statements: counts.statements - before.statements,
    bytes: counts.bytes - before.bytes,
    reads: counts.reads - before.reads,
    loopMs: Math.max(0, loop.percentile(99) / 1e6 - RESOLUTION),
  }
}
