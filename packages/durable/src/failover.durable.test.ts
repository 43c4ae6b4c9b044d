import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, textOf, tool } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool, type PoolClient } from 'pg'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { scripted, testRuns } from '../test/runs.ts'

const here = testRuns()

test('a waiting result does not wait for the next poll if its connection for notifications leads to a former primary (W28)', async () => {
  const pool = new Pool({ connectionString: here.database.url, max: 4 })
  pool.on('error', () => {})
  const opened: PoolClient[] = []
  const listen = {
    connect: async () => {
      const connection = await pool.connect()
      opened.push(connection)
      return connection
    },
    query: (text: string, values?: unknown[]) => pool.query(text, values),
    get ending() {
      return pool.ending
    },
  }
  let post = () => {}
  const posted = new Promise<string>((resolve) => {
    post = () => resolve('posted')
  })
  const wait = tool({ name: 'wait', description: 'Waits.', input: z.object({}), effect: 'read', execute: () => posted })
  const agentOf = () =>
    createAgent({ name: 'clerk', model: scripted(respond(call('wait')), respond(say('Done.'))), tools: [wait] })
  const reader = here.runsOf(agentOf(), { listen })
  const worker = await here.runsOf(agentOf()).work()
  try {
    await reader.start('clerk', 'Go', { id: 'run' })
    let isOver = false
    const result = reader.result('run').finally(() => {
      isOver = true
    })
    await expect.poll(() => opened.length).toBe(1)
    // Its first notification has shown that it receives them.
    await new Promise((resolve) => setTimeout(resolve, 500))
    await opened[0]?.query('UNLISTEN *; SET default_transaction_read_only = on')
    post()
    await expect.poll(() => isOver, { timeout: 20_000 }).toBe(true)
    expect((await result).text).toBe('Done.')
    expect(opened).toHaveLength(2)
  } finally {
    await worker.stop()
    await pool.end()
  }
})

test('a run goes on, and is read, when all connections of its pool lead to a server that has become read-only (W28)', async () => {
  const pool = new Pool({ connectionString: here.database.url, max: 6, idleTimeoutMillis: 0 })
  pool.on('error', () => {})
  const executed: string[] = []
  const post = tool({
    name: 'post',
    description: 'Posts.',
    input: z.object({}),
    async execute() {
      const connections = await Promise.all(Array.from({ length: 5 }, () => pool.connect()))
      for (const connection of connections) {
        await connection.query('SET default_transaction_read_only = on')
        connection.release()
      }
      executed.push('post')
      return 'posted'
    },
  })
  const model = scripted(respond(call('post')), respond(say('Done.')))
  const runs = here.runsOf(createAgent({ name: 'clerk', model, tools: [post] }), {
    pool,
    store: postgresStore({ pool, schema: here.schema }),
  })
  const worker = await runs.work()
  try {
    await runs.start('clerk', 'Go', { id: 'run' })
    const { messages } = await runs.result('run')
    expect(messages.map(textOf)).toEqual(['Go', '', 'posted', 'Done.'])
    expect(executed).toEqual(['post'])
    // The connections that nothing was written to are not used for reading either.
    const all = await Promise.all(Array.from({ length: 6 }, () => runs.get('run')))
    expect(all.map((run) => [run?.status, run?.attempts])).toEqual(all.map(() => ['completed', 1]))
    const { rows } = await pool.query('SHOW transaction_read_only')
    expect(rows).toEqual([{ transaction_read_only: 'off' }])
  } finally {
    await worker.stop()
    await pool.end()
  }
})
