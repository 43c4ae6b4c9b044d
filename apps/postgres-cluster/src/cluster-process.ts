/**
 * A process that runs a PostgreSQL server until its parent process has ended. Its arguments are the folder of PostgreSQL's programs, whether commits
 * wait for the disk ("on" or "off"), and, for a standby, the URL of its primary.
 */

import { execFile } from 'node:child_process'
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'

export type Order = 'stop' | 'start' | 'restart'
export type Report = { readonly url: string } | { readonly done: Order } | { readonly failed: string }

const run = promisify(execFile)

const [programs = '', sync = 'on', primary] = process.argv.slice(2)
const folder = await mkdtemp(join(tmpdir(), 'meanwhile-postgres-'))
const data = join(folder, 'data')
const log = join(folder, 'log')
const port = await freePort()

// One order after another: stopping, too, waits until the server has started.
let work = make()
process.on('message', (order: Order) => {
  work = work.then(() => carryOut(order))
})
for (const end of ['disconnect', 'SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(end, () => {
    work = work.then(remove)
  })
}
if (!process.connected) work = work.then(remove)

async function make(): Promise<void> {
  await reported(async () => {
    const user = await otherUser()
    if (user) await chown(folder, user.uid, user.gid)
    if (primary) await program('pg_basebackup', ['-d', primary, '-D', data, '-R', '-c', 'fast', '--no-sync'])
    else await program('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'])
    await control('start')
    return { url: `postgres://postgres@127.0.0.1:${port}/postgres` }
  })
}

async function carryOut(order: Order): Promise<void> {
  await reported(async () => {
    await control(order)
    return { done: order }
  })
}

async function remove(): Promise<void> {
  // It may have stopped already.
  await control('stop').catch(() => {})
  await rm(folder, { recursive: true, force: true })
  process.exit()
}

async function reported(action: () => Promise<Report>): Promise<void> {
  let report: Report
  try {
    report = await action()
  } catch (error) {
    const said = await readFile(log, 'utf8').catch(() => '')
    report = { failed: `PostgreSQL: ${String(error)}\n${said.slice(-2_000)}` }
  }
  if (process.connected) process.send?.(report)
}

/** `immediate`: without a checkpoint of the database, so that the next start recovers as after a crash. */
async function control(order: Order): Promise<void> {
  const settings = [
    `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200`,
    `-c fsync=${sync} -c full_page_writes=${sync} -c autovacuum=${sync}`,
  ].join(' ')
  const mode = order === 'start' ? [] : ['-m', 'immediate']
  await program('pg_ctl', [order, '-D', data, '-l', log, '-o', settings, '-w', ...mode])
}

async function program(name: string, options: readonly string[]): Promise<void> {
  await run(join(programs, name), options, { cwd: folder, ...(await otherUser()) })
}

/** PostgreSQL refuses to run as root. Debian's package creates a user `postgres`. */
async function otherUser(): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(
        ['-u', '-g'].map(async (which) => Number((await run('id', [which, name])).stdout)),
      )
      if (uid && gid) return { uid, gid }
    } catch {
      // This user does not exist.
    }
  }
  throw new Error('root cannot run a PostgreSQL server, and neither user "postgres" nor "nobody" exists')
}
