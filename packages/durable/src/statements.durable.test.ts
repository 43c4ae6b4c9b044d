import { call, respond, say } from '@meanwhile/assemble/testing'
import { postgresStore } from '@meanwhile/stores/postgres'
import { expect, test } from 'vitest'
import { recordedRuns } from '../test/recorded-runs.ts'
import type { PostgresPool } from './index.ts'

const { here, runsOf, work, agentOf } = recordedRuns()

/** A read, a call with an effect, an answer. */
const THREE_STEPS = [respond(say('First.'), call('look')), respond(call('post')), respond(say('Done.'))]

/** What a statement does, by its first words and the table. */
const KINDS = {
  'read run': /^(WITH writable .*)?SELECT .*\.runs WHERE/,
  'add run': /^INSERT INTO \S+\.runs/,
  'change run': /^UPDATE \S+\.runs/,
  'read checkpoint': /^(WITH writable .*)?SELECT .*\.checkpoints WHERE/,
  'save checkpoint': /^(INSERT INTO|UPDATE) \S+\.checkpoints/,
  'read events': /^(WITH writable .*)?SELECT .*\.events WHERE/,
  'write events': /^INSERT INTO \S+\.events/,
  'delete events': /^DELETE FROM \S+\.events/,
}

test('a run makes few statements: its row is not read when it starts, unless the caller gave its id, and once by a waiter, which finds the result of a completed run in its checkpoint (W61)', async () => {
  const counts: Record<string, number> = {}
  const query: PostgresPool['query'] = (text: string, values?: unknown[]) => {
    const words = text.replaceAll(/\s+/g, ' ')
    const [kind = words] = Object.entries(KINDS).find(([, pattern]) => pattern.test(words)) ?? []
    counts[kind] = (counts[kind] ?? 0) + 1
    return here.pool.query(text, values)
  }
  const pool: PostgresPool = { query, connect: () => here.pool.connect() }
  const runs = runsOf(agentOf(THREE_STEPS), {
    pool,
    store: postgresStore({ pool, schema: here.schema }),
    // As soon as there is one.
    events: { every: 1 },
  })
  await work(runs)
  // Now this process listens, and the worker has tidied.
  await runs.start('clerk', 'Go', { id: 'first' })
  await runs.result('first')
  for (const kind of Object.keys(counts)) delete counts[kind]
  const began = performance.now()
  const { id } = await runs.start('clerk', 'Go')
  await runs.result(id)
  // On a slow machine the worker and the waiter also poll.
  const polls = 2 * Math.floor((performance.now() - began) / 1_000)
  const {
    'read run': reads = 0,
    'save checkpoint': saves = 0,
    'write events': batches = 0,
    'delete events': deletions = 0,
    ...others
  } = counts
  expect(others).toEqual({ 'add run': 1, 'change run': 2, 'read checkpoint': 2 })
  expect(reads).toBeLessThanOrEqual(1 + polls)
  // Its begin, its claim, each answer, before the effect, after each step, and its end, if none of them coincide.
  expect(saves).toBeLessThanOrEqual(9)
  expect(batches).toBeGreaterThan(0)
  // Only after a batch that had only deltas.
  expect(deletions).toBeLessThanOrEqual(Math.min(3, batches))
})
