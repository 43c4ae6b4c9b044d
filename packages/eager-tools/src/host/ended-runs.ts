/** Waits for early runs whose result is not used, before the host executes the call itself. */

import { follow } from '@meanwhile/core/calls'
import type { EarlyCall } from './early-call.ts'
import { HOLD, LONGEST } from './hold.ts'
import { UnfinishedEarlyCallError } from './unfinished-early-call-error.ts'

/**
 * Resolves when all `runs` have settled and been undone. `signal`: that of the host's own execution.
 *
 * @throws {UnfinishedEarlyCallError} It takes longer than `hold`.
 */
export function endedRuns(
  tool: string,
  runs: readonly Pick<EarlyCall, 'over'>[],
  hold: number = HOLD,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let unfollow: (() => void) | undefined
    const end = (act: () => void) => {
      clearTimeout(timer)
      unfollow?.()
      act()
    }
    const stop = () => end(() => reject(signal?.reason))
    if (signal?.aborted) return stop()
    unfollow = signal && follow(signal, stop)
    if (hold <= LONGEST) timer = setTimeout(() => end(() => reject(new UnfinishedEarlyCallError(tool, hold))), hold)
    void Promise.all(runs.map((run) => run.over())).then(() => end(resolve))
  })
}
