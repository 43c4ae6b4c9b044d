/** Fails a test in which a rejection is not handled. */

import { afterEach, beforeEach } from 'vitest'

// The real timer, because a test may have installed a fake clock.
const atNextTurn = setImmediate

/** Watches each test of a file. Returns the unhandled rejections of the current test. */
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
