/** Who acts in a run: a hook, a wrap or a tool. */

import type { Context } from '@opentelemetry/api'
import type { LazyController } from '../flow/follow.ts'
import { MiddlewareError } from '../vocabulary/errors.ts'
import type { CallEntry } from './call-entry.ts'
import type { Execution } from './execution.ts'

/** Who acts: the context it acts in, its name, the call it works for, if any, and whether it stands outside of the steps. */
export interface Actor {
  readonly context: Context
  readonly source: string
  /** Of a middleware: which of its hooks or wraps. */
  readonly hook?: string
  readonly call?: CallEntry
  /** Of the tool that acts. */
  readonly execution?: Execution
  /** Of a wrap: aborts it alone, when it is left. */
  readonly own?: LazyController
  /** Of a hook, or of a wrap inside of the steps that works for no call: aborts when a wrap leaves the steps. */
  readonly steps?: LazyController
  /** Told when it has warned. */
  readonly warned?: () => void
  readonly outside?: boolean
}

/**
 * Throws if a wrap has left whoever acts: nothing more is made for it.
 *
 * @throws {MiddlewareError} Its cause says why it was left.
 */
export function checkNotLeft({ source, hook = '', own, steps }: Actor, method: string): void {
  const left = [own, steps].find((one) => one?.aborted)
  if (!left) return
  const { reason: cause } = left.signal
  throw new MiddlewareError(source, hook, `${method} was called after a wrap outside had left it`, { cause })
}
