/** Durable runs whose tools come from an MCP server: each worker has its own connections, and makes them when it continues a run. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { textOf } from '@meanwhile/core'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { programAt } from '@meanwhile/tests/programs'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { didIn } from './shop-journal.ts'
import { CALLS, type ShopRuns, shopRuns } from './shop-runs.ts'

const PROGRAM = programAt(new URL('./shop-worker-process.ts', import.meta.url))

const workers = new Set<ChildProcess>()
let url: string
let folder: string
let shop: ShopRuns

beforeAll(async () => {
  url = await ownDatabase()
  shop = await shopRuns(url, '')
})
afterAll(() => shop.close())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'meanwhile-shop-'))
})
afterEach(async () => {
  await Promise.all([...workers].map(kill))
  rmSync(folder, { recursive: true, force: true })
})

async function startWorker(): Promise<ChildProcess> {
  const child = fork(PROGRAM, [url, folder], { execArgv: ['--no-warnings'] })
  workers.add(child)
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('a worker ended before it was ready')))
  await Promise.race([once(child, 'message'), ended])
  ended.catch(() => undefined)
  return child
}

async function kill(worker: ChildProcess): Promise<void> {
  workers.delete(worker)
  if (worker.exitCode !== null || worker.signalCode !== null) return
  const ended = once(worker, 'exit')
  worker.kill('SIGKILL')
  await ended
}

const release = (name: string) => writeFileSync(join(folder, name), '')
const count = (what: string) => didIn(folder).what.filter((one) => one === what).length

test.each(CALLS)(
  'a worker that is killed while "%s" is open: the next one connects, repeats only a read, and says what may have happened (MC1, MC20)',
  async (open) => {
    const before = CALLS.slice(0, CALLS.indexOf(open))
    for (const name of before) release(name)
    const first = await startWorker()
    await shop.runs.start('buyer', 'Go', { id: open })
    await expect.poll(() => count(`${open} began`)).toBe(1)
    await kill(first)
    // Otherwise it takes pg-boss 10 seconds to notice.
    await shop.pool.query(`UPDATE pgboss.job SET heartbeat_on = now() - interval '1 hour' WHERE state = 'active'`)
    for (const name of CALLS) release(name)
    await startWorker()
    await expect.poll(async () => (await shop.runs.get(open))?.status).toBe('completed')
    const isRead = open.startsWith('find')
    const { unknown, messages } = await shop.runs.result(open)
    expect(CALLS.map((name) => count(`${name} began`))).toEqual(CALLS.map((name) => (name === open && isRead ? 2 : 1)))
    expect(didIn(folder).processes).toBe(2)
    expect(unknown).toEqual(isRead ? undefined : [open])
    const read = messages.filter(({ role }) => role === 'tool').map((message) => textOf(message))
    expect(read).toEqual(
      CALLS.map((name) => (name === open && !isRead ? expect.stringContaining('may have happened') : `${name}: done`)),
    )
  },
)
