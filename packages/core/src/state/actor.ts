/** Describes what acts in a run: a hook, a wrap or a tool. */

import type { Context } from '@opentelemetry/api'
import type { LazyController } from '../flow/follow.ts'
import { MiddlewareError } from '../vocabulary/errors.ts'
import type { CallEntry } from './call-entry.ts'
import type { Execution } from './call-outcomes.ts'

/** What acts: its context, its name, the call it works for, if any, and whether it is outside the steps. */
export interface Actor {
  readonly context: Context
  readonly source: string
  /** For a middleware: which of its hooks or wraps acts. */
  readonly hook?: string
  readonly call?: CallEntry
  /** For a tool: its execution. */
  readonly execution?: Execution
  /** For a wrap: aborts only this wrap, when it is left. */
  readonly own?: LazyController
  /** For a hook, or a wrap inside the steps that works for no call: aborts when a wrap leaves the steps. */
  readonly steps?: LazyController
  /** Called when the actor emits a warning. */
  readonly warned?: () => void
  readonly outside?: boolean
}

/** Throws {@link MiddlewareError} if an outer wrap has ended the actor: nothing more is made for it. Its cause is the reason why the wrap ended. */
export function checkNotLeft({ source, hook = '', own, steps }: Actor, method: string): void {
  const left = [own, steps].find((one) => one?.aborted)
  if (!left) return
  const { reason: cause } = left.signal
  throw new MiddlewareError(source, hook, `${method} was called after an outer wrap had ended it`, { cause })
}
