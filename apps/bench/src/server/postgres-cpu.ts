/** Reads the CPU time of a PostgreSQL server and its connections. */

import { readdirSync, readFileSync } from 'node:fs'
import type { Pool } from 'pg'

/** Milliseconds of a tick of Linux's clock. */
const TICK = 10

/** Returns a function that reads the CPU time so far, in milliseconds. It returns `undefined` where there is no `/proc`. */
export async function postgresCpu(pool: Pool): Promise<() => number | undefined> {
  const { rows } = await pool.query('SELECT pg_backend_pid() AS pid')
  const server = statOf(String(rows[0]?.pid))?.parent
  return () => {
    if (server === undefined) return undefined
    const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    const own = processes.map((pid) => (pid === server ? statOf(pid)?.all : childOf(server, pid)) ?? 0)
    return own.reduce((sum, ticks) => sum + ticks, 0) * TICK
  }
}

function childOf(server: string, pid: string): number | undefined {
  const stat = statOf(pid)
  return stat?.parent === server ? stat.own : undefined
}

/** `own`: its ticks; `all`: with those of its children that have ended. */
function statOf(pid: string): { readonly parent: string; readonly own: number; readonly all: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number)
    return { parent: fields[1] ?? '', own: user + system, all: user + system + endedUser + endedSystem }
  } catch {
    // It has ended, or the system is not Linux.
    return undefined
  }
}
