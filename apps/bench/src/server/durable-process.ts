/**
 * A process that works on durable runs, or starts them and waits for their results; or does the same with bare jobs of pg-boss. Its arguments are what
 * it does, of what kind, and the URL of a database.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Effect, type Model, messageOf, type Tool, tool } from '@meanwhile/core'
import { durableRuns, setUpDurable } from '@meanwhile/durable'
import { pgBossEngine } from '@meanwhile/durable/pg-boss'
import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { z } from 'zod'
import { countStatements, counts } from './counts.ts'
import { postgresCpu } from './postgres-cpu.ts'

export type Kind = 'job' | 'runs'

/** `runs`: make this many. Without: only report what was taken since the last report. */
export interface Request {
  readonly runs?: number
}

/** What this process took since its last report. */
export interface Took {
  readonly wallMs: number
  readonly cpuMs: number
  readonly postgresMs?: number
  readonly statements: number
}

export type Answer = Took | { readonly problem: string }

/** How many runs go on at once in each worker. */
const AT_ONCE = 20

const QUEUE = 'bare'

const [, , role = '', kind = '', url = ''] = process.argv
countStatements()
const pool = new Pool({ connectionString: url, max: 10 })
pool.on('error', (error) => console.error(error.message))
const boss = new PgBoss({ connectionString: url, useListenNotify: true })
boss.on('error', (error) => console.error(error.message))

const make = kind === 'job' ? await jobs() : await runs()
const postgres = await postgresCpu(pool)
let before = { at: performance.now(), cpu: process.cpuUsage(), postgres: postgres(), statements: counts.statements }
let own = 0

process.on('message', (request: Request) => {
  void answered(request)
    .catch((error: unknown): Answer => ({ problem: messageOf(error) }))
    .then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())

async function answered({ runs = 0 }: Request): Promise<Answer> {
  await Promise.all(Array.from({ length: runs }, () => make()))
  const { user, system } = process.cpuUsage(before.cpu)
  const now = {
    at: performance.now(),
    cpu: process.cpuUsage(),
    postgres: postgres(),
    statements: counts.statements - own,
  }
  const took = {
    wallMs: now.at - before.at,
    cpuMs: (user + system) / 1_000,
    ...(now.postgres !== undefined && { postgresMs: now.postgres - (before.postgres ?? 0) }),
    statements: now.statements - before.statements,
  }
  before = now
  return took
}

/** A run of three model calls with a `read` and an `external` call. */
async function runs(): Promise<() => Promise<void>> {
  await setUpDurable({ pool })
  const at = (name: string, effect: Effect): Tool =>
    tool({ name, description: 'Does it.', input: z.object({ at: z.number() }), effect, execute: () => 'ok' })
  const script = [
    respond(say('First.'), call('look', { at: 1 })),
    respond(call('post', { at: 2 })),
    respond(say('Done.')),
  ]
  const model: Model = {
    provider: 'scripted',
    id: 'scripted-1',
    stream: (request) =>
      scriptedModel(script.slice(request.messages.filter(({ role }) => role === 'assistant').length)).stream(request),
  }
  const agent = createAgent({ name: 'clerk', model, tools: [at('look', 'read'), at('post', 'external')] })
  const all = durableRuns({ agents: [agent], store: postgresStore({ pool }), pool, engine: pgBossEngine(boss) })
  if (role === 'worker') await all.work({ concurrency: AT_ONCE })
  return async () => {
    const { id } = await all.start('clerk', 'Go')
    const { text } = await all.result(id)
    if (text !== 'Done.') throw new Error(`the answer was ${JSON.stringify(text)}`)
  }
}

/** The same by hand: a job that saves its messages three times. Nothing resumes it, and nobody can read its events. */
async function jobs(): Promise<() => Promise<void>> {
  await pool.query('CREATE TABLE IF NOT EXISTS bare (id text PRIMARY KEY, state jsonb NOT NULL, done boolean NOT NULL)')
  await boss.start()
  await boss.createQueue(QUEUE, { heartbeatSeconds: 10, retryLimit: 10, notify: true })
  const save = (id: string, messages: readonly object[], done: boolean) =>
    pool.query(
      'INSERT INTO bare VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET state = excluded.state, done = excluded.done',
      [id, JSON.stringify(messages), done],
    )
  const said = (content: string) => ({ role: 'assistant', content })
  const options = { localConcurrency: AT_ONCE, pollingIntervalSeconds: 0.5, notifyPollingIntervalSeconds: 0.5 }
  if (role === 'worker')
    await boss.work<{ readonly id: string }>(QUEUE, options, async ([job]) => {
      const id = job?.data.id ?? ''
      const messages: object[] = [{ role: 'user', content: 'Go' }]
      messages.push(said('First.'), { role: 'tool', content: 'ok' })
      await save(id, messages, false)
      messages.push(said('Second.'))
      await save(id, messages, false)
      messages.push({ role: 'tool', content: 'ok' }, said('Done.'))
      await save(id, messages, true)
    })
  const finished = waiters()
  return async () => {
    const id = crypto.randomUUID()
    await boss.send(QUEUE, { id })
    await finished(id)
  }
}

/** Returns a function that waits for the end of a job. All waits share one look at the table, which is not counted. */
function waiters(): (id: string) => Promise<void> {
  const waiting = new Map<string, () => void>()
  let isLooking = false
  async function look(): Promise<void> {
    isLooking = true
    while (waiting.size > 0) {
      await wait(10)
      own++
      const { rows } = await pool.query('SELECT id FROM bare WHERE done AND id = ANY($1)', [[...waiting.keys()]])
      for (const { id } of rows) {
        waiting.get(id)?.()
        waiting.delete(id)
      }
    }
    isLooking = false
  }
  return (id) =>
    new Promise((resolve, reject) => {
      waiting.set(id, resolve)
      if (!isLooking) look().catch(reject)
    })
}
