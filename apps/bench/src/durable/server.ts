/** The PostgreSQL server of the measurement, and a setting that applies to all its connections. */

import { setTimeout as wait } from 'node:timers/promises'
import { type Cluster, startCluster } from '@meanwhile/postgres-cluster'
import { Client } from 'pg'

export interface Server extends AsyncDisposable {
  readonly url: string
  readonly version: string
  /** `off`: a commit does not wait for the disk, unless its transaction has set it to `on`. */
  setSynchronousCommit(value: 'on' | 'off'): Promise<void>
}

/** @throws {NoPostgresError} PostgreSQL is not installed. */
export async function startServer(): Promise<Server> {
  const cluster = await startCluster()
  const admin = new Client({ connectionString: cluster.url })
  admin.on('error', () => {})
  const shown = async (setting: string): Promise<string> => {
    const { rows } = await admin.query(`SHOW ${setting}`)
    return String(rows[0]?.[setting])
  }
  try {
    await admin.connect()
    return {
      url: cluster.url,
      version: await shown('server_version'),
      async setSynchronousCommit(value) {
        await admin.query(`ALTER SYSTEM SET synchronous_commit = ${value}`)
        await admin.query('SELECT pg_reload_conf()')
        while ((await shown('synchronous_commit')) !== value) await wait(5)
      },
      [Symbol.asyncDispose]: () => close(cluster, admin),
    }
  } catch (error) {
    await close(cluster, admin)
    throw error
  }
}

async function close(cluster: Cluster, admin: Client): Promise<void> {
  await admin.end().catch(() => undefined)
  await cluster.close()
}
