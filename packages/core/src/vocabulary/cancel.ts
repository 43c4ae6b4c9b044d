/** The options of `run.cancel`. */

import { ConfigError } from './errors.ts'
import { checkOptions, checkTime } from './option-checks.ts'

/** When a cancelled run stops: `after-tools` after the current step, `after-model` without starting anything new, `now` immediately. */
export type CancelMode = 'after-tools' | 'after-model' | 'now'

/** The options of `run.cancel`. */
export interface CancelOptions {
  /** When the run stops. Default `now`. */
  readonly at?: CancelMode
  /** Milliseconds from this call until the mode becomes `now`. Default: never. */
  readonly escalateAfter?: number
}

/** From the least to the most urgent. */
export const CANCEL_MODES: readonly CancelMode[] = ['after-tools', 'after-model', 'now']

/** @throws {ConfigError} An option is wrong. */
export function checkedCancel(options: CancelOptions): CancelOptions {
  checkOptions('cancel', options, { at: 'mode', escalateAfter: 'timeout' })
  const { at = 'now', escalateAfter } = options
  if (!CANCEL_MODES.includes(at))
    throw new ConfigError('at', `must be one of ${CANCEL_MODES.join(', ')}, not ${String(at)}`)
  if (escalateAfter !== undefined) checkTime('escalateAfter', escalateAfter)
  return options
}
