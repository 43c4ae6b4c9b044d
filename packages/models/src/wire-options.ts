/** The options of a wire, for users who have their own loop. */

import { checkOptions } from '@meanwhile/core'

export interface WireOptions {
  /** The key of provider metadata and options for this wire, as the adapter's `provider`. */
  readonly provider?: string
}

/**
 * The `provider` option, or the default.
 *
 * @throws {ConfigError} An option is unknown.
 */
export function providerOf(wire: string, options: WireOptions, usual: string): string {
  checkOptions(wire, options, { provider: '' })
  return options.provider ?? usual
}
