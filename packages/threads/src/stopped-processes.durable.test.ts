import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { programAt } from '@meanwhile/tests/programs'
import { Pool } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { all } from '../test/chat.ts'
import type { TurnOrder } from '../test/turns-process.ts'
import { createThreads, type Threads } from './index.ts'
import { postgresThreads, setUpPostgresThreads } from './postgres.ts'

const PROGRAM = programAt(new URL('../test/turns-process.ts', import.meta.url))

/** `KILLS=500 SUSPENSIONS=50 npm run test:durable -- stopped-processes` tries more. */
const KILLS = Number(process.env.KILLS ?? 4)
const SUSPENSIONS = Number(process.env.SUSPENSIONS ?? 2)

let url = ''
let folder = ''
let pool: Pool
/** Threads that only read: no turn runs in this process. */
let threads: Threads
const children = new Set<ChildProcess>()

beforeEach(async () => {
  url = await ownDatabase()
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-turns-'))
  pool = new Pool({ connectionString: url, max: 5 })
  pool.on('error', () => {})
  await setUpPostgresThreads({ pool })
  const agent = createAgent({ name: 'clerk', model: scriptedModel([]) })
  threads = createThreads({ agent, store: postgresThreads({ pool }) })
})

afterEach(async () => {
  await Promise.all([...children].map(kill))
  await pool.end()
  await rm(folder, { recursive: true, force: true })
})

async function spawn(lease: number, ahead = 0): Promise<ChildProcess> {
  const args = [url, join(folder, 'notes'), String(lease), String(ahead)]
  const child = fork(PROGRAM, args, { execArgv: ['--no-warnings'] })
  children.add(child)
  await once(child, 'message')
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  children.delete(child)
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** Resolves when the process has stored the message. Rejects if it dies before that. */
async function send(child: ChildProcess, order: TurnOrder): Promise<void> {
  const done = new AbortController()
  const { signal } = done
  const stored = async () => {
    for (;;) if ((await once(child, 'message', { signal }))[0] === order.thread) return
  }
  const died = once(child, 'exit', { signal }).then(() => Promise.reject(new Error('the process has died')))
  try {
    const sent = Promise.race([stored(), died])
    child.send(order, () => undefined)
    await sent
  } finally {
    done.abort()
    died.catch(() => undefined)
  }
}

/** The bills that were paid, in order. */
function paid(): readonly string[] {
  const notes = join(folder, 'notes')
  return existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : []
}

const pick = <One>(list: readonly One[]): One | undefined => list[Math.floor(Math.random() * list.length)]

test(
  `of turns in processes of which ${KILLS} are killed, none is lost and no effect happens twice (TH1, TH6)`,
  async () => {
    const sent: string[] = []
    let killed = 0
    async function killing(): Promise<void> {
      for (;;) {
        const child = await spawn(1_000)
        // Some turn makes progress before each kill, however slow the machine is.
        for (const before = paid().length; paid().length === before && killed < KILLS; ) await pause(20)
        await pause(Math.random() * 500)
        if (killed++ >= KILLS) return
        await kill(child)
      }
    }
    async function customer(name: string): Promise<void> {
      for (let n = 0; killed < KILLS; n++) {
        const order = { thread: `${name} ${n}`, tenths: 2 }
        sent.push(order.thread)
        for (let isStored = false; !isStored; ) {
          const child = pick([...children])
          isStored =
            child !== undefined &&
            (await send(child, order).then(
              () => true,
              () => false,
            ))
          if (!isStored) await pause(50)
        }
        expect((await (await threads.turn(order.thread))?.result)?.status).toBe('completed')
      }
    }
    const customers = ['a', 'b', 'c', 'd'].map(customer)
    await Promise.all([...customers, killing(), killing(), killing()])
    for (const thread of sent) {
      const { turns, messages } = await threads.read(thread)
      expect(turns.map(({ status }) => status)).toEqual(['completed'])
      expect(messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    }
    const bills = paid()
    expect(bills.filter((bill, index) => bills.indexOf(bill) !== index)).toEqual([])
    expect(sent.length).toBeGreaterThanOrEqual(4)
    console.log(`${KILLS} kills, ${sent.length} turns, ${bills.length} payments, each once`)
  },
  120_000 + KILLS * 20_000,
)

test(
  `of processes whose clocks are 60 s apart, none takes over a live turn in ${SUSPENSIONS} suspensions of all of them (W30)`,
  async () => {
    const lease = 4_000
    const processes = await Promise.all([0, 60_000, -60_000].map((ahead) => spawn(lease, ahead)))
    for (let round = 0; round < SUSPENSIONS; round++) {
      const ids = processes.map((_, index) => `${round} ${index}`)
      await Promise.all(processes.map((child, index) => send(child, { thread: ids[index] ?? '', tenths: 30 })))
      await expect.poll(() => ids.every((id) => paid().includes(id)), { timeout: 60_000 }).toBe(true)
      for (const child of processes) child.kill('SIGSTOP')
      await pause(lease + 500)
      for (const child of processes) child.kill('SIGCONT')
      for (const id of ids) {
        const turn = await threads.turn(id)
        expect(await turn?.result).toMatchObject({ status: 'completed' })
        const events = turn ? await all(turn.events()) : []
        expect(events.filter(({ type }) => type === 'turn-resumed')).toEqual([])
      }
    }
    expect(paid()).toHaveLength(3 * SUSPENSIONS)
  },
  60_000 + SUSPENSIONS * 60_000,
)
