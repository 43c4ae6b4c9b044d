/** The garbage collector, for tests that show that nothing keeps an object. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// The real timer, because a test may have installed a fake clock.
const atNextTurn = setImmediate

function collector(): (options?: { readonly type: 'minor' }) => void {
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('gc')
  if (typeof gc !== 'function') throw new TypeError('this runtime has no garbage collector to call')
  // V8 collects only the young part if it gets `undefined`.
  return (options) => void (options ? gc(options) : gc())
}

/** Collects all garbage, or only the young part. */
export const collectGarbage: (options?: { readonly type: 'minor' }) => void = collector()

/** How many times garbage is collected before an object counts as kept. */
const ROUNDS = 100

/**
 * Collects garbage until at most `most` of these objects are left (default 0), and returns how many are. One collection is not enough: a
 * WeakRef keeps its target to the end of the turn in which it was read, and V8's compiler, which works in the background, keeps what it
 * compiles until it has finished. So a busy machine needs more rounds. An object that something still refers to survives all of them.
 */
export async function keptOf(refs: () => readonly WeakRef<object>[], most = 0): Promise<number> {
  for (let round = 1; ; round++) {
    await new Promise((resolve) => atNextTurn(resolve))
    collectGarbage()
    await new Promise((resolve) => atNextTurn(resolve))
    const kept = refs().filter((ref) => ref.deref() !== undefined).length
    if (kept <= most || round === ROUNDS) return kept
  }
}
