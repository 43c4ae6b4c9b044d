/** PgBouncer in transaction mode before a PostgreSQL server: each transaction of a client may have another connection. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Client } from 'pg'
import { isProgram } from './binaries.ts'
import { freePort } from './free-port.ts'

export class NoPgBouncerError extends Error {
  override readonly name = 'NoPgBouncerError'
  constructor() {
    super(
      'This needs "pgbouncer", which was not found. Install it with "apt-get install -y pgbouncer" (Debian, Ubuntu) or "brew install pgbouncer" (macOS).',
    )
  }
}

export interface Pooler {
  /** The URL of the same database, through the pooler. */
  readonly url: string
  close(): Promise<void>
}

/** @throws {NoPgBouncerError} It is not installed. */
export async function transactionPooler(url: string): Promise<Pooler> {
  const { hostname, port, pathname, username } = new URL(url)
  const program = findPgBouncer()
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-pgbouncer-'))
  await chmod(folder, 0o755)
  const own = await freePort()
  const database = pathname.slice(1)
  const settings = `[databases]
${database} = host=${hostname} port=${port} dbname=${database} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
max_client_conn = 200
`
  await writeFile(join(folder, 'pgbouncer.ini'), settings, { mode: 0o644 })
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const pooler = spawn(program, ['-q', ...user, join(folder, 'pgbouncer.ini')], { stdio: 'ignore' })
  const through = Object.assign(new URL(url), { port: String(own) }).href
  const close = async (): Promise<void> => {
    await ended(pooler)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await answers(through)
  } catch (error) {
    await close()
    throw error
  }
  return { url: through, close }
}

async function ended(pooler: ChildProcess): Promise<void> {
  if (pooler.exitCode !== null || pooler.signalCode !== null) return
  const exit = once(pooler, 'exit')
  pooler.kill('SIGKILL')
  await exit
}

/** Resolves when it takes connections. */
async function answers(url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const client = new Client({ connectionString: url })
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (tries === 50) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function findPgBouncer(): string {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/opt/homebrew/bin', '/usr/local/bin']
  const found = folders.map((folder) => join(folder, 'pgbouncer')).find(isProgram)
  if (found === undefined) throw new NoPgBouncerError()
  return found
}
