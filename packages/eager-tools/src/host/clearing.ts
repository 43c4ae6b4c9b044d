/** What the host waits for before it makes a call itself: early runs of the call whose result is not used. */

import { follow } from '@meanwhile/core/calls'
import type { EarlyCall } from './early-call.ts'
import { HOLD, LONGEST } from './hold.ts'
import { UnfinishedEarlyCallError } from './unfinished-early-call-error.ts'

export interface Clearing {
  /**
   * Resolves when the early runs of the call have settled and been undone. Rejects with an
   * {@link UnfinishedEarlyCallError} if that takes longer than `hold`.
   */
  readonly done: Promise<void>
  /** Whether an early run has yielded its result. */
  readonly isStream: boolean
}

/** `undefined`: there is nothing to wait for. `signal`: that of the host's own execution. */
export function clearing(
  tool: string,
  runs: readonly Pick<EarlyCall, 'over' | 'isStream'>[],
  hold?: number,
  signal?: AbortSignal,
): Clearing | undefined {
  if (runs.length === 0) return undefined
  return { done: ended(tool, runs, hold, signal), isStream: runs.some(({ isStream }) => isStream) }
}

function ended(
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
