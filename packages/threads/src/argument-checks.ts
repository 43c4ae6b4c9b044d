/** Checks the arguments of callers. */

import { ConfigError } from '@meanwhile/core'
import { checkCount } from '@meanwhile/core/calls'
import type { Limits } from './slots.ts'
import { ThreadIdError } from './thread-errors.ts'
import type { SendPolicy } from './user-decisions.ts'

/** Throws {@link ThreadIdError} if the id is not valid. `thread`: the thread of the message or turn. */
export function checkId(id: unknown, what: ThreadIdError['what'], thread?: string): void {
  if (typeof id !== 'string' || id === '' || id.length > 1_024) throw new ThreadIdError(id, what, thread)
}

/** Returns the limits. Throws `ConfigError` if one is not valid. */
export function checkedLimits({ maxRunning, maxWaiting }: Partial<Limits>): Limits {
  const limits = {
    maxRunning: maxRunning ?? Number.POSITIVE_INFINITY,
    maxWaiting: maxWaiting ?? Number.POSITIVE_INFINITY,
  }
  checkCount('maxRunning', limits.maxRunning)
  if (limits.maxWaiting !== 0) checkCount('maxWaiting', limits.maxWaiting)
  return limits
}

const CHOICES = {
  whenBusy: ['queue', 'steer', 'preempt', 'reject'],
  whenAsking: ['close', 'reject'],
} satisfies { readonly [Option in 'whenBusy' | 'whenAsking']: readonly SendPolicy[Option][] }

/** Returns the options. Throws `ConfigError` if one is not valid. */
export function checkedSendPolicy(policy: SendPolicy): SendPolicy {
  for (const option of ['whenBusy', 'whenAsking'] as const) {
    const choices: readonly string[] = CHOICES[option]
    if (!choices.includes(policy[option])) throw new ConfigError(option, `must be ${choices.join(' or ')}`)
  }
  checkCount('maxQueued', policy.maxQueued)
  return policy
}
