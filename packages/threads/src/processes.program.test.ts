import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { programAt } from '@meanwhile/tests/programs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { all, shown } from '../test/chat.ts'
import type { ThreadOrder, ThreadReport } from '../test/thread-process.ts'
import { createThreads, type Threads } from './index.ts'
import { type SqliteThreads, sqliteThreads } from './sqlite.ts'

const PROGRAM = programAt(new URL('../test/thread-process.ts', import.meta.url))
/** Longer than a busy machine lets a process stand still: else another one takes over a turn that nobody has left. */
const LEASE = 1_500

let scratch: string
let store: SqliteThreads
/** Threads that only read: no turn runs in this process. */
let threads: Threads
const children = new Set<Child>()

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'meanwhile-threads-'))
  store = sqliteThreads(join(scratch, 'chat.db'))
  threads = createThreads({ agent: createAgent({ name: 'chat', model: scriptedModel([]) }), store })
})

afterEach(async () => {
  await Promise.all([...children].map((child) => child.kill()))
  store.close()
  await rm(scratch, { recursive: true, force: true })
})

class Child {
  readonly #child: ChildProcess
  readonly #reports: ThreadReport[] = []
  #wake = () => {}

  constructor() {
    const args = [join(scratch, 'chat.db'), join(scratch, 'log'), String(LEASE), join(scratch, 'released')]
    this.#child = fork(PROGRAM, args, { execArgv: ['--no-warnings'] })
    this.#child.on('message', (report: ThreadReport) => {
      this.#reports.push(report)
      this.#wake()
    })
    children.add(this)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  static async start(): Promise<Child> {
    const child = new Child()
    await child.#next()
    return child
  }

  async tell(order: ThreadOrder): Promise<string> {
    this.#child.send(order)
    const report = await this.#next()
    if (!('done' in report) || report.error !== undefined)
      throw new Error('error' in report ? report.error : 'no report')
    return report.done
  }

  async #next(): Promise<ThreadReport> {
    for (;;) {
      const report = this.#reports.shift()
      if (report) return report
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async kill(): Promise<void> {
    children.delete(this)
    if (!this.isAlive) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }

  async ended(): Promise<void> {
    if (this.isAlive) await once(this.#child, 'exit')
  }
}

const log = (): string[] => {
  const path = join(scratch, 'log')
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
}

/** Stories and the tool `work` go on, and all later ones pass. */
const release = () => writeFileSync(join(scratch, 'released'), '')

/** Later ones stand still again. */
const hold = () => rmSync(join(scratch, 'released'))

const linesWith = (start: string) => log().filter((line) => line.startsWith(start))

async function waitFor<Value>(
  read: () => Promise<Value> | Value,
  isExpected: (value: Value) => boolean,
): Promise<Value> {
  for (const end = Date.now() + 120_000; ; ) {
    const value = await read()
    if (isExpected(value)) return value
    if (Date.now() > end) throw new Error(`the value is not as expected: ${JSON.stringify(value)}\n${log().join('\n')}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Suspends a process that is not changing the file just then: SQLite would lock everybody else out until it goes on. */
async function suspend(child: Child): Promise<void> {
  for (;;) {
    child.signal('SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, 50))
    if (!isLocked()) return
    child.signal('SIGCONT')
  }
}

function isLocked(): boolean {
  const database = new DatabaseSync(join(scratch, 'chat.db'), { timeout: 0 })
  try {
    database.exec('BEGIN IMMEDIATE; ROLLBACK')
    return false
  } catch {
    return true
  } finally {
    database.close()
  }
}

const idle = () =>
  waitFor(
    () => threads.read('t'),
    ({ status, turns }) => status === 'idle' && turns.length > 0,
  )

/** Waits until a reader in this process has received `count` events of this type. */
async function untilEvent(type: string, count = 1): Promise<void> {
  const turn = await waitFor(
    () => threads.turn('t'),
    (turn) => turn !== undefined,
  )
  let found = 0
  for await (const event of turn?.events() ?? []) if (event.type === type && ++found >= count) return
}

test('a process is killed while the model writes a text: another process takes the turn over, and the text is stored once (TH6, TH10)', async () => {
  const [first, second] = [await Child.start(), await Child.start()]
  await first.tell({ send: 'story' })
  await untilEvent('text-delta', 4)
  await first.kill()
  release()
  const { messages, turns } = await idle()
  expect(turns).toMatchObject([{ status: 'completed' }])
  expect(messages.map(({ message }) => message.role)).toEqual(['user', 'assistant'])
  expect(linesWith('model')).toEqual(['model story', 'model story'])
  expect(linesWith('context')).toEqual([`context ${first.pid}`, `context ${second.pid}`])
})

test('a process is killed in a tool whose effect is not read: the call is not repeated, and the model reads why (TH6)', async () => {
  const first = await Child.start()
  await first.tell({ send: 'work' })
  await waitFor(
    () => linesWith('work'),
    ({ length }) => length > 0,
  )
  await first.kill()
  await Child.start()
  const state = await idle()
  expect(linesWith('work')).toHaveLength(1)
  expect(shown(state)).toEqual([
    'user: work',
    'assistant: [work]',
    expect.stringMatching(/may have/),
    expect.stringMatching(/^assistant: So/),
  ])
})

test('a process is killed while a turn waits for an answer: another process takes the answer, and the call is executed once (TH6, TH7)', async () => {
  const first = await Child.start()
  await first.tell({ send: 'mail' })
  await waitFor(
    () => threads.read('t'),
    ({ status }) => status === 'waiting',
  )
  await first.kill()
  const second = await Child.start()
  expect(shown(await threads.read('t'))).toEqual(['user: mail', 'assistant: I write. [mail]'])
  await second.tell({ answer: true })
  const state = await idle()
  expect(linesWith('mail')).toHaveLength(1)
  expect(shown(state).slice(2)).toEqual(['tool: sent', 'assistant: So: sent'])
})

test('a process is killed between the message and the first checkpoint: the turn is not lost (TH6)', async () => {
  const first = await Child.start()
  await first.tell({ dieAtSave: true })
  await first.tell({ send: 'Hello' }).catch(() => undefined)
  await first.ended()
  expect(await threads.read('t')).toMatchObject({ status: 'running', turns: [{ status: 'running' }] })
  await Child.start()
  expect(shown(await idle())).toEqual(['user: Hello', 'assistant: You said Hello.'])
})

test('a process is killed with messages in its queue: no turn is lost, and each is answered once (TH1, TH6)', async () => {
  const first = await Child.start()
  await first.tell({ send: 'story' })
  await first.tell({ send: 'two' })
  await first.tell({ send: 'mail' })
  await untilEvent('text-delta', 2)
  await first.kill()
  release()
  const second = await Child.start()
  await waitFor(
    () => threads.read('t'),
    ({ status, queued }) => status === 'waiting' && queued.length === 0,
  )
  await second.tell({ answer: true })
  const state = await idle()
  expect(state.turns.map(({ messageId, status }) => [messageId, status])).toEqual([
    ['story', 'completed'],
    ['two', 'completed'],
    ['mail', 'completed'],
  ])
  expect(linesWith('model')).toEqual(['model story', 'model story', 'model two', 'model mail', 'model mail'])
  expect(linesWith('mail')).toHaveLength(1)
})

test('a process is suspended until its lease has expired: another process takes over, and the first writes nothing more and stays alive (TH6)', async () => {
  const first = await Child.start()
  await first.tell({ send: 'story' })
  await untilEvent('text-delta', 4)
  await suspend(first)
  release()
  await Child.start()
  const before = await idle()
  const events = await store.events('t')
  first.signal('SIGCONT')
  expect(await first.tell({ ping: true })).toBe('done')
  await new Promise((resolve) => setTimeout(resolve, 3 * LEASE))
  expect(await store.events('t')).toEqual(events)
  expect(await threads.read('t')).toEqual(before)
  expect(first.isAlive).toBe(true)
  await first.tell({ send: 'Hello' })
  await waitFor(
    () => threads.read('t'),
    ({ turns, status }) => turns.length === 2 && status === 'idle',
  )
})

test('a process is suspended in a tool whose effect is not read, until its lease has expired: the call is executed once (TH6)', async () => {
  const first = await Child.start()
  await first.tell({ send: 'work' })
  await waitFor(
    () => linesWith('work'),
    ({ length }) => length > 0,
  )
  await suspend(first)
  await Child.start()
  await idle()
  release()
  first.signal('SIGCONT')
  expect(await first.tell({ ping: true })).toBe('done')
  await new Promise((resolve) => setTimeout(resolve, 3 * LEASE))
  expect(linesWith('work')).toHaveLength(1)
  expect((await threads.read('t')).turns).toMatchObject([{ status: 'completed' }])
})

test('two processes run one turn at a time, and stops, steering and other messages reach the turn of the other process (TH1, TH2)', async () => {
  const [first, second] = [await Child.start(), await Child.start()]
  await first.tell({ send: 'story' })
  await untilEvent('text-delta', 2)
  await second.tell({ send: 'two' })
  expect((await threads.read('t')).queued).toMatchObject([{ id: 'two' }])
  await second.tell({ send: 'three', whenBusy: 'preempt' })
  const state = await waitFor(
    () => threads.read('t'),
    ({ turns, status }) => turns.length === 3 && status === 'idle',
  )
  expect(shown(state).filter((text) => text.startsWith('user'))).toEqual(['user: story', 'user: three', 'user: two'])
  await first.tell({ send: 'work' })
  await waitFor(
    () => linesWith('work'),
    ({ length }) => length > 0,
  )
  await second.tell({ send: 'four', whenBusy: 'steer' })
  // The process of the turn finds the message when it renews its lease.
  await new Promise((resolve) => setTimeout(resolve, 4 * LEASE))
  release()
  const last = await waitFor(
    () => threads.read('t'),
    ({ turns, status }) => turns.length === 4 && status === 'idle',
  )
  expect(shown(last).slice(-4)).toEqual([
    'assistant: [work]',
    'tool: worked',
    'user: four',
    'assistant: You said four.',
  ])
  hold()
  await first.tell({ send: 'another story' })
  await untilEvent('text-delta', 2)
  await second.tell({ stop: true })
  expect((await threads.read('t')).turns.at(-1)).toMatchObject({ status: 'stopped' })
})

test('a reader in another process receives all events of a turn, also when the turn is taken over (TH5, TH6)', async () => {
  const first = await Child.start()
  await first.tell({ send: 'story' })
  const turn = await waitFor(
    () => threads.turn('t'),
    (turn) => turn !== undefined,
  )
  const reading = all(turn?.events() ?? (async function* () {})())
  await untilEvent('text-delta', 4)
  await first.kill()
  release()
  await Child.start()
  const events = await reading
  const resumed = events.findIndex(({ type }) => type === 'turn-resumed')
  expect(events[resumed]).toMatchObject({ cause: 'recovery', messages: ['story'] })
  const text = events
    .slice(resumed)
    .flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))
    .join('')
  expect(shown(await threads.read('t'))[1]).toContain(text)
  expect(events.at(-1)).toMatchObject({ type: 'turn-end', status: 'completed' })
  const cursors = events.map(({ cursor }) => cursor)
  expect(new Set(cursors).size).toBe(cursors.length)
})
