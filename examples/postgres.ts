// Checkpoints in PostgreSQL: a run asks on one machine and is answered on another. It uses the database of DATABASE_URL, or its own
// server if PostgreSQL is installed.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, tool } from '@meanwhile/core'
import { NoPostgresError, startCluster } from '@meanwhile/postgres-cluster'
import { postgresStore, setUpPostgres } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { z } from 'zod'

const model = scriptedModel([respond(call('transfer', { amount: 40 })), respond(say('40 € are on their way.'))])

const transfer = tool({
  name: 'transfer',
  description: 'Transfers money.',
  input: z.object({ amount: z.number() }),
  answer: z.enum(['yes', 'no']),
  execute: ({ amount }, { answers }) => {
    if (answers.length === 0) throw interrupt({ question: `Transfer ${amount} €?` })
    return answers[0] === 'yes' ? 'done' : 'The user said no.'
  },
})

/** The code that each machine runs at start. */
async function machine(url: string) {
  const pool = new Pool({ connectionString: url })
  // The pool replaces an idle connection that is lost. Without a listener a lost connection would end the process.
  pool.on('error', (error) => console.error(error.message))

  await setUpPostgres({ pool })
  const agent = createAgent({ model, tools: [transfer], checkpoints: postgresStore({ pool }) })

  return { agent, stop: () => pool.end() }
}

async function answerElsewhere(url: string): Promise<void> {
  const [here, there] = await Promise.all([machine(url), machine(url)])
  try {
    const asked = await here.agent.run('Send Ada 40 €.')
    if (asked.status !== 'interrupted') throw new Error(`it did not ask: ${asked.text}`)
    const answers = Object.fromEntries(asked.interrupts.map(({ id }) => [id, 'yes']))
    const { text } = await there.agent.resume(asked.checkpoint.runId, answers).result
    console.log(text) // 40 € are on their way.
  } finally {
    await Promise.all([here.stop(), there.stop()])
  }
}

async function onServerOfItsOwn(): Promise<void> {
  const cluster = await startCluster()
  try {
    await answerElsewhere(cluster.url)
  } finally {
    await cluster.close()
  }
}

try {
  const { DATABASE_URL } = process.env
  await (DATABASE_URL ? answerElsewhere(DATABASE_URL) : onServerOfItsOwn())
} catch (error) {
  if (!(error instanceof NoPostgresError)) throw error
  console.log(error.message, 'Or name a database in DATABASE_URL.')
}
