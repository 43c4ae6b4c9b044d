// The agent and the durable runs, for all processes.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Message, tool } from '@meanwhile/core'
import { durableRuns } from '@meanwhile/durable'
import { pgBossEngine } from '@meanwhile/durable/pg-boss'
import { eagerTools } from '@meanwhile/eager-tools'
import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { z } from 'zod'

const measure = tool({
  name: 'measure',
  description: 'Measures the water at a place.',
  input: z.object({ place: z.string() }),
  effect: 'read',
  execute: ({ place }, { signal }) => wait(700, `2 metres at ${place}, measured by process ${process.pid}`, { signal }),
})

const warn = tool({
  name: 'warn',
  description: 'Warns the people at a place.',
  input: z.object({ place: z.string() }),
  answer: z.enum(['yes', 'no']),
  async execute({ place }, { answers, signal }) {
    if (answers.length === 0) throw interrupt({ question: `Warn ${place}?` })
    if (answers[0] === 'no') return 'The user said no.'
    return await wait(300, `${place} is warned.`, { signal })
  },
})

const script = [
  respond(say('I measure at three places, one after another.'), call('measure', { place: 'the bridge' })),
  respond(call('measure', { place: 'the mill' })),
  respond(call('measure', { place: 'the harbour' }), say('The harbour is the last one.')),
  respond(call('warn', { place: 'the harbour' })),
  respond(say('The water is at 2 metres everywhere, and the harbour is warned.')),
]
const reply = ({ messages }: { readonly messages: readonly Message[] }) =>
  script[messages.filter(({ role }) => role === 'assistant').length] ?? respond(say('I have nothing to add.'))
const model = scriptedModel(
  Array.from({ length: 1_000 }, () => reply),
  { pace: { firstToken: 100, betweenTokens: 40 } },
)

export const url = process.env.DATABASE_URL ?? 'postgres://postgres@localhost:5432/postgres'

export const pool = new Pool({ connectionString: url })
// The pool replaces a lost connection. Without a listener a lost connection would end the process.
pool.on('error', (error) => console.error(error.message))

export const boss = new PgBoss({
  connectionString: url,
  // PostgreSQL notifies a worker of a run at once.
  useListenNotify: true,
  // Checks for dead workers every second; the default of pg-boss is every minute.
  superviseIntervalSeconds: 1,
  monitorIntervalSeconds: 1,
})
boss.on('error', (error) => console.error(error.message))

const warden = createAgent({ name: 'warden', model, tools: [measure, warn], middleware: [eagerTools()] })

export const runs = durableRuns({
  agents: [warden],
  store: postgresStore({ pool }),
  pool,
  engine: pgBossEngine(boss),
})
