/** Durable runs of an agent whose tools come from an MCP server in its own process, as each process of the application opens them. */

import { call, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type ModelRequest } from '@meanwhile/core'
import { type DurableRuns, durableRuns, setUpDurable } from '@meanwhile/durable'
import { pgBossEngine } from '@meanwhile/durable/pg-boss'
import { mcp } from '@meanwhile/mcp'
import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'

/** The calls of each run, one after another. */
export const CALLS = ['find a', 'order b', 'find c'] as const

function script({ messages }: ModelRequest): ScriptResponse {
  const done = messages.filter(({ role }) => role === 'tool').length
  const [name, key] = CALLS[done]?.split(' ') ?? []
  return name ? respond(call(name, { key }, { id: `${name} ${key}` })) : respond(say('Done.'))
}

export interface ShopRuns {
  readonly runs: DurableRuns
  readonly pool: Pool
  close(): Promise<void>
}

export async function shopRuns(url: string, FOLDER: string): Promise<ShopRuns> {
  const pool = new Pool({ connectionString: url, max: 5 })
  pool.on('error', () => {})
  await setUpDurable({ pool })
  const boss = new PgBoss({ connectionString: url, max: 4, monitorIntervalSeconds: 1, superviseIntervalSeconds: 1 })
  boss.on('error', () => {})
  const args = [new URL('./shop-server.ts', import.meta.url).pathname, '2026']
  const servers = mcp({ servers: { shop: { command: process.execPath, args, env: { FOLDER } } }, trust: 'annotations' })
  const model = scriptedModel(Array.from({ length: 100 }, () => script))
  const agent = createAgent({ name: 'buyer', model, middleware: [servers] })
  const runs = durableRuns({ agents: [agent], store: postgresStore({ pool }), pool, engine: pgBossEngine(boss) })
  return {
    runs,
    pool,
    async close() {
      await boss.stop({ graceful: false })
      await pool.end()
    },
  }
}
