/**
 * A process that runs turns over PostgreSQL, for tests that kill and suspend it. Its arguments: the URL of the database, the file in which its tool
 * notes what it does, the lease time, and by how many milliseconds its clock is ahead. It sends each message that it receives to the thread of that name.
 */

import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { createThreads } from '@meanwhile/threads'
import { postgresThreads } from '@meanwhile/threads/postgres'
import { Pool } from 'pg'
import { z } from 'zod'

export interface TurnOrder {
  readonly thread: string
  /** How many tenths of a second its tool works. The time of a suspension does not count. */
  readonly tenths: number
}

const [connectionString = '', notes = '', lease = '', ahead = ''] = process.argv.slice(2)
const clock = Date.now
Date.now = () => clock() + Number(ahead)

const pay = tool({
  name: 'pay',
  description: 'Pays a bill.',
  input: z.object({ bill: z.string(), tenths: z.number() }),
  async execute({ bill, tenths }) {
    appendFileSync(notes, `${bill}\n`)
    for (let tenth = 0; tenth < tenths; tenth++) await pause(100)
    return `paid ${bill}`
  },
})

const pool = new Pool({ connectionString, max: 5 })
pool.on('error', () => {})
const threads = createThreads({
  store: postgresThreads({ pool }),
  lease: Number(lease),
  agent: ({ id, metadata }) => {
    const { tenths } = z.object({ tenths: z.number() }).parse(metadata)
    const model = scriptedModel(
      Array.from({ length: 20 }, () => ({ messages }) => {
        return respond(messages.at(-1)?.role === 'tool' ? say('Done.') : call('pay', { bill: id, tenths }))
      }),
    )
    return createAgent({ name: 'clerk', model, tools: [pay] })
  },
  // A turn that another process has taken over ends here with an error.
  onError: () => {},
})
threads.watch()

process.on('message', ({ thread, tenths }: TurnOrder) => {
  // If it fails, the test sends it again.
  threads.send(thread, 'Pay.', { messageId: thread, metadata: { tenths } }).then(
    () => process.send?.(thread),
    () => undefined,
  )
})
// The process ends with its test.
process.on('disconnect', () => process.exit())
process.send?.('ready')
