/** A pool that holds back a statement, so that a test can do something just before it. */

import type { Pool } from 'pg'
import type { PostgresPool } from '../src/index.ts'

export interface HeldPool {
  readonly pool: PostgresPool
  /** Resolves when the statement has come. */
  readonly isHeld: Promise<void>
  release(): void
}

/** Holds back the first statement that contains `text`, until it is released. */
export function heldPool(over: Pool, text: string): HeldPool {
  let isFirst = true
  let held = () => {}
  let release = () => {}
  const isHeld = new Promise<void>((resolve) => {
    held = resolve
  })
  const isReleased = new Promise<void>((resolve) => {
    release = resolve
  })
  return {
    pool: {
      connect: () => over.connect(),
      async query(statement, values) {
        if (isFirst && statement.includes(text)) {
          isFirst = false
          held()
          await isReleased
        }
        return await over.query(statement, values)
      },
    },
    isHeld,
    release,
  }
}
