/** A rejection that nobody handles is a failure of the test in which it comes up. */

import { afterEach, beforeEach } from 'vitest'

// The real one: a test may have put a fake clock in its place.
const atNextTurn = setImmediate

/** Watches each test of a file. What nobody handled so far in the present one. */
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
    if (unhandled.length > 0) throw new AggregateError(unhandled, 'rejections nobody handled')
  })
  return unhandled
}
