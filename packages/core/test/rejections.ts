/** Fails the test in which a rejection is not handled. */

import { afterEach, beforeEach } from 'vitest'

// The real one: a test may have replaced it with a fake clock.
const atNextTurn = setImmediate

/** Watches each test of a file. Returns the rejections of the present test that were not handled. */
export function unhandledRejections(): readonly unknown[] {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  beforeEach(() => {
    unhandled.length = 0
    process.on('unhandledRejection', note)
  })
  afterEach(async () => {
    await new Promise((resolve) => atNextTurn(resolve))
    process.off('unhandledRejection', note)
    if (unhandled.length > 0) throw new AggregateError(unhandled, 'unhandled rejections')
  })
  return unhandled
}
