/** Counts what this process sends to databases. */

import { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ThreadStore } from '@meanwhile/threads'
import { Client } from 'pg'

/** What was counted since the process began. */
export interface Counts {
  /** PostgreSQL: statements, `BEGIN` and `COMMIT` included. SQLite: transactions that may write. */
  statements: number
  /** The bytes of their values. */
  bytes: number
  /** How often a store of threads was read. */
  reads: number
}

export const counts: Counts = { statements: 0, bytes: 0, reads: 0 }

/** Call it before a database is opened. */
export function countStatements(): void {
  before(Client.prototype, 'query', (text, values) => {
    counts.statements++
    counts.bytes += sizeOf(values ?? Object(text).values)
  })
  before(DatabaseSync.prototype, 'exec', (text) => {
    if (text === 'BEGIN IMMEDIATE') counts.statements++
  })
  before(StatementSync.prototype, 'run', (...values) => {
    counts.bytes += sizeOf(values)
  })
}

/** Calls `count` with the arguments of each call of the method. */
function before(prototype: object, method: string, count: (...given: readonly unknown[]) => void): void {
  const call: unknown = Reflect.get(prototype, method)
  if (typeof call !== 'function') throw new Error(`there is no method ${method}`)
  const value = function (this: unknown, ...given: unknown[]): unknown {
    count(...given)
    return Reflect.apply(call, this, given)
  }
  Object.defineProperty(prototype, method, { value, writable: true, configurable: true })
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : 8
  return Object.values(value).reduce<number>((sum, one) => sum + sizeOf(one), 0)
}

/** Returns the store; its reads are counted. */
export function countedThreads(store: ThreadStore): ThreadStore {
  const counted = <Given extends unknown[], Result>(read: (...given: Given) => Result) => {
    return (...given: Given): Result => {
      counts.reads++
      return read(...given)
    }
  }
  return { ...store, load: counted(store.load), events: counted(store.events), turns: counted(store.turns) }
}
