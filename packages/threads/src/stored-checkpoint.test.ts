import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { CheckpointCorruptError } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chat, shown } from '../test/chat.ts'
import { createThreads, type StoredEvent } from './index.ts'
import { sqliteThreads } from './sqlite.ts'
import { checkpointText, hashAfter, loadedCheckpoint, NO_MESSAGES } from './stored-checkpoint.ts'

let scratch: string
let path: string

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'meanwhile-threads-'))
  path = join(scratch, 'chat.db')
})

afterEach(async () => {
  await rm(scratch, { recursive: true, force: true })
})

/** Damages of the first message of the thread, which is not in the checkpoint of its second turn, and of the text of that checkpoint. */
test.each([
  ['its event is missing', `DELETE FROM thread_events WHERE seq = 1`],
  ['its event is superseded', `UPDATE thread_events SET superseded = 1 WHERE seq = 1`],
  ['its event has another text', `UPDATE thread_events SET event = replace(event, 'Hello', 'Hallo')`],
  ['its event has another type', `UPDATE thread_events SET event = '{"type":"turn-resumed"}' WHERE seq = 1`],
  ['its event is not JSON', `UPDATE thread_events SET event = substr(event, 2) WHERE seq = 1`],
  ['its event is no event', `UPDATE thread_events SET event = 'null' WHERE seq = 1`],
  ['the beginning of the turn is missing', `DELETE FROM thread_events WHERE event LIKE '%"content":"mail"%'`],
  ['the base has another hash', `UPDATE checkpoints SET checkpoint = replace(checkpoint, '"hash":"', '"hash":"x')`],
  [
    'the base is no base',
    `UPDATE checkpoints SET checkpoint = '{}' || substr(checkpoint, instr(checkpoint, char(10)))`,
  ],
  ['the base is not JSON', `UPDATE checkpoints SET checkpoint = 'x' || checkpoint`],
  ['the text ends too early', `UPDATE checkpoints SET checkpoint = substr(checkpoint, 1, length(checkpoint) - 1)`],
  ['the base is missing', `UPDATE checkpoints SET checkpoint = substr(checkpoint, instr(checkpoint, char(10)) + 1)`],
  ['the text is that of something else', `UPDATE checkpoints SET checkpoint = '{"messages":[]}'`],
])(
  'if %s, the turn fails with a CheckpointCorruptError, nothing runs, and what is stored stays (L18)',
  async (_, damage) => {
    const store = sqliteThreads(path)
    const { agent, asked, did } = chat()
    const errors: unknown[] = []
    const threads = createThreads({ agent, store, onError: (error) => errors.push(error) })
    await (await threads.send('t', 'Hello')).result
    const turn = await threads.send('t', 'mail')
    const [question] = (await turn.result).interrupts ?? []
    const database = new DatabaseSync(path)
    const stored = () => database.prepare('SELECT * FROM checkpoints').all()
    const kept = database.prepare('SELECT * FROM thread_events WHERE kept = 1').all()
    const whole = stored()
    expect(whole).toHaveLength(1)
    const events = () => database.prepare('SELECT event FROM thread_events WHERE kept = 1 ORDER BY seq').all()
    database.exec(damage)
    const [damaged, before] = [stored(), events()]
    await threads.answer('t', { [question?.id ?? '']: { allow: true } })
    expect(await turn.result).toMatchObject({ status: 'failed', error: { name: 'CheckpointCorruptError' } })
    expect(errors).toMatchObject([expect.any(CheckpointCorruptError)])
    expect([asked.length, did, stored()]).toEqual([2, [], damaged])
    expect(events().slice(0, before.length)).toEqual(before)
    // After the data is restored, the turn can be retried.
    database.exec(`DELETE FROM thread_events WHERE seq <= ${Math.max(...kept.map(({ seq }) => Number(seq)))}`)
    for (const row of kept) {
      const columns = Object.keys(row)
      const text = `INSERT INTO thread_events (${columns.join()}) VALUES (${columns.map(() => '?').join()})`
      database.prepare(text).run(...Object.values(row))
    }
    for (const { checkpoint } of whole)
      database.prepare('UPDATE checkpoints SET checkpoint = ?').run(checkpoint ?? null)
    await threads.retry('t')
    expect(await turn.result).toMatchObject({ status: 'completed' })
    expect(did).toEqual(['mail ada [{"allow":true}]'])
    expect(shown(await threads.read('t')).at(0)).toBe('user: Hello')
    await threads.close()
    database.close()
    store.close()
  },
)

const first = { role: 'user', content: 'first' } as const
const start: StoredEvent = {
  seq: 1,
  turn: 'run',
  isKept: true,
  event: { type: 'turn-start', message: first, messageId: 'm' },
}

function textAt(revision: number, seq: number): string {
  const checkpoint = { runId: 'run', revision, messages: [first, { role: 'user', content: `${revision}` }] }
  const base = { thread: 't', from: seq, seq, count: 1, hash: hashAfter(NO_MESSAGES, first) }
  return checkpointText({ checkpoint, expected: 0, base })
}

test('a checkpoint that is replaced with its events while it is loaded is loaded again (L14)', async () => {
  const texts = [textAt(1, 5), textAt(2, 1)]
  const loaded = await loadedCheckpoint(
    'run',
    async () => texts.shift(),
    async () => [start],
  )
  expect(loaded).toEqual({ runId: 'run', revision: 2, messages: [first, { role: 'user', content: '2' }] })
  const deleted = [textAt(1, 5)]
  expect(
    await loadedCheckpoint(
      'run',
      async () => deleted.shift(),
      async () => [],
    ),
  ).toBeUndefined()
})

test.each([
  ['the event is missing', []],
  ['another event is the last', [{ ...start, seq: 0 }]],
  ['there is a second message', [{ ...start, seq: 0 }, start]],
  ['the message has another text', [{ ...start, event: { ...start.event, message: { role: 'user', content: 'x' } } }]],
  ['the event is none', [{ ...start, event: null }]],
])('a checkpoint is not loaded if %s with whose history it begins (L18)', async (_, events) => {
  const loading = loadedCheckpoint(
    'run',
    async () => textAt(1, 1),
    async () => events as StoredEvent[],
  )
  await expect(loading).rejects.toMatchObject({ name: 'CheckpointCorruptError', id: 'run' })
})

test('an error of the store while the events of a checkpoint are read does not count as damage (L18)', async () => {
  const failing = loadedCheckpoint(
    'run',
    async () => textAt(1, 1),
    () => Promise.reject(new Error('no connection')),
  )
  await expect(failing).rejects.toThrow('no connection')
})
