import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { textOf } from '@meanwhile/core'
import { ownDatabase } from '@meanwhile/postgres-cluster/testing'
import { programAt } from '@meanwhile/tests/programs'
import { sized } from '@meanwhile/tests/size'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BossThreads, openThreads } from '../test/boss-threads.ts'
import type { ThreadEvent, Turn, WhenBusy } from './index.ts'

const PROGRAM = programAt(new URL('../test/worker-process.ts', import.meta.url))

/** The number of rounds. Each round kills two workers. */
const ROUNDS = sized({ small: 2, middle: 2, whole: 250 })

let url = ''
let folder = ''
/** Threads that only send requests: no turn runs in this process. */
let server: BossThreads
const workers = new Set<ChildProcess>()

beforeEach(async () => {
  url = await ownDatabase()
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-turns-'))
  server = await openThreads(url, () => {})
})

afterEach(async () => {
  await Promise.all([...workers].map((worker) => end(worker)))
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

async function spawn(): Promise<void> {
  const worker = fork(PROGRAM, [url, join(folder, 'notes')], {
    execArgv: ['--no-warnings'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  workers.add(worker)
  const died = once(worker, 'exit').then(() => Promise.reject(new Error('a worker ended before it was ready')))
  died.catch(() => undefined)
  await Promise.race([once(worker, 'message'), died])
}

async function end(worker: ChildProcess): Promise<void> {
  workers.delete(worker)
  if (worker.exitCode !== null || worker.signalCode !== null) return
  const ended = once(worker, 'exit')
  worker.kill('SIGKILL')
  await ended
}

/** Kills all workers, and makes the engine notice that at once. */
async function killAll(): Promise<void> {
  await Promise.all([...workers].map((worker) => end(worker)))
  await server.pool.query(`UPDATE pgboss.job SET heartbeat_on = now() - interval '1 hour' WHERE state = 'active'`)
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Answers all questions of a thread until it is idle. */
async function answerAll(thread: string): Promise<void> {
  for (const until = Date.now() + 180_000; Date.now() < until; await pause(20)) {
    const { status, interrupts, queued } = await server.threads.read(thread)
    if (status === 'idle' && queued.length === 0) return
    for (const { id } of interrupts) await server.threads.answer(thread, { [id]: true }).catch(() => undefined)
  }
  throw new Error(`${thread} does not become idle: ${JSON.stringify(await stateOf(thread), null, 1)}`)
}

/** What a thread, its runs and their jobs are like: why nothing goes on. */
async function stateOf(thread: string): Promise<unknown> {
  const state = await server.threads.read(thread)
  const ids = state.turns.map(({ id }) => id)
  const { rows: runs } = await server.pool.query('SELECT *, now() FROM meanwhile.runs WHERE id = ANY($1)', [ids])
  const { rows: jobs } = await server.pool.query('SELECT * FROM pgboss.job WHERE singleton_key = ANY($1)', [ids])
  return { state, runs, jobs }
}

/** Reads a turn until it has ended, also after questions. Returns the ids of the messages that the reader has in the end. */
async function messageIdsOf(turn: Turn): Promise<string[]> {
  let ids: string[] = []
  let after: string | undefined
  for (;;) {
    let last: ThreadEvent | undefined
    for await (const event of turn.events(after === undefined ? {} : { after })) {
      last = event
      after = event.cursor
      if (event.type === 'turn-resumed') ids = ids.filter((id) => event.messages.includes(id))
      if ('messageId' in event && event.messageId) ids.push(event.messageId)
    }
    if (last?.type === 'turn-end') return ids
    await pause(20)
  }
}

const pick = <One>(list: readonly One[]): One => list[Math.floor(Math.random() * list.length)] as One

test(
  'at whichever time workers are killed, each turn ends, each message is in its thread once, and no change is made twice (TH1, TH5, TH6, TH11)',
  async () => {
    await Promise.all([spawn(), spawn()])
    for (let round = 0; round < ROUNDS; round++) {
      const names = [`${round} a`, `${round} b`]
      const sent = new Map(names.map((name): [string, string[]] => [name, []]))
      const turns: Turn[] = []
      const say = async (thread: string, kind: string, whenBusy: WhenBusy) => {
        const list = sent.get(thread) ?? []
        const text = `${list.length} ${kind}`
        list.push(text)
        turns.push(await server.threads.send(thread, text, { messageId: text, whenBusy }))
      }
      for (const name of names) await say(name, pick(['post', 'ask']), 'queue')
      const readers = turns.map((turn) => messageIdsOf(turn))
      for (const name of names) await say(name, pick(['post', 'ask', 'text']), 'queue')
      const ends = names.map((name) => answerAll(name))
      for (const one of ends) one.catch(() => undefined)
      await pause(Math.random() * 400)
      for (const name of names) await say(name, pick(['post', 'text']), pick(['steer', 'queue', 'preempt']))
      await pause(Math.random() * 300)
      await killAll()
      await Promise.all([spawn(), spawn()])
      await Promise.all(ends)
      // A thread may have been idle before its last message was sent.
      await Promise.all(names.map((name) => answerAll(name)))
      for (const [index, name] of names.entries()) {
        const { messages, turns: states } = await server.threads.read(name)
        const users = messages.filter(({ message }) => message.role === 'user').map(({ message }) => textOf(message))
        expect([...users].sort()).toEqual([...(sent.get(name) ?? [])].sort())
        for (const { status } of states) expect(['completed', 'stopped']).toContain(status)
        const first = messages.filter(({ turn }) => turn === turns[index]?.id).map(({ id }) => id)
        expect(await readers[index]).toEqual(first)
      }
    }
    const notes = existsSync(join(folder, 'notes'))
      ? readFileSync(join(folder, 'notes'), 'utf8').trim().split('\n')
      : []
    expect(notes.length).toBeGreaterThan(ROUNDS)
    expect(notes.filter((line, index) => notes.indexOf(line) !== index)).toEqual([])
    // The runs of ended turns are deleted.
    await expect
      .poll(async () => (await server.pool.query('SELECT 1 FROM meanwhile.runs')).rowCount, { timeout: 60_000 })
      .toBe(0)
  },
  300_000 + ROUNDS * 30_000,
)
