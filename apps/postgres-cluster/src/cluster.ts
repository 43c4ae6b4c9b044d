/** Starts and controls a private PostgreSQL server for tests and measurements. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { findBinaries } from './binaries.ts'
import type { Order, Report } from './cluster-process.ts'

export interface Cluster {
  /** The URL of its database `postgres`, with a superuser. */
  readonly url: string
  /** Stops the server at once, as if its machine had failed. Its connections are cut. */
  crash(): Promise<void>
  /** Starts the server after a crash. Resolves when it accepts connections. */
  start(): Promise<void>
  /** Crashes the server and starts it again. */
  restart(): Promise<void>
  /** Stops the server and removes its folder. */
  close(): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./cluster-process.ts', import.meta.url))

/**
 * Creates a cluster in a temporary folder and starts it on a free port of 127.0.0.1; every user of this machine may connect. A separate process runs
 * it.
 * When this process ends, in whatever way, that process stops the server, removes the folder, and ends.
 * `standbyOf`: the URL of another cluster, which the new one replicates; `SELECT pg_promote()` makes it a primary.
 * `isLasting`: whether commits wait for the disk. Default true. Without, a crash may destroy the data, and nothing tidies in the background.
 * @throws {NoPostgresError} PostgreSQL is not installed.
 */
export async function startCluster({
  standbyOf,
  isLasting = true,
}: {
  readonly standbyOf?: string
  readonly isLasting?: boolean
} = {}): Promise<Cluster> {
  const place = [findBinaries(), isLasting ? 'on' : 'off']
  const keeper = fork(PROGRAM, standbyOf === undefined ? place : [...place, standbyOf], {
    // Its own process group: Ctrl-C in a terminal does not reach it.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: ['--no-warnings'],
  })
  const ended = once(keeper, 'exit')

  async function report(): Promise<Report> {
    const [first] = await Promise.race([once(keeper, 'message'), ended])
    if (typeof first !== 'object') throw new Error('The process that runs the PostgreSQL server has ended.')
    const report: Report = first
    if ('failed' in report) throw new Error(report.failed)
    return report
  }

  async function carryOut(order: Order): Promise<void> {
    keeper.send(order)
    await report()
  }

  async function close(): Promise<void> {
    if (keeper.connected) keeper.disconnect()
    await ended
  }

  try {
    const ready = await report()
    if (!('url' in ready)) throw new Error('The PostgreSQL server did not report its URL.')
    return {
      url: ready.url,
      crash: () => carryOut('stop'),
      start: () => carryOut('start'),
      restart: () => carryOut('restart'),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
