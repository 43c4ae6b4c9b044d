/** A process that stops itself in the middle of its first change of the thread `t`. Its arguments: the URL of a database, and a schema. */

import { Pool } from 'pg'
import { postgresThreads } from '../src/postgres.ts'

const [connectionString = '', schema = ''] = process.argv.slice(2)
const pool = new Pool({ connectionString, max: 1 })
pool.on('error', () => {})
let isFirst = true
const seq = await postgresThreads({ pool, schema }).change('t', (stored) => {
  if (isFirst) process.kill(process.pid, 'SIGSTOP')
  isFirst = false
  const thread = { id: 't', tag: '0123abcd', createdAt: 1, updatedAt: 2, turns: 0, historyAt: 0, isPaused: false }
  const next = (stored?.thread.seq ?? 0) + 1
  return { thread: { ...thread, isDeleted: false, seq: next }, result: next }
})
process.send?.(seq)
await pool.end()
process.disconnect?.()
