/** The options of a wire, for those who have a loop of their own. */

import { checkOptions } from '@meanwhile/core'

export interface WireOptions {
  /** The name under which provider metadata and options are for this wire, as the adapter's `provider`. */
  readonly provider?: string
}

/** The `provider` option, or the usual one. Throws `ConfigError` for an unknown option. */
export function providerOf(wire: string, options: WireOptions, usual: string): string {
  checkOptions(wire, options, { provider: '' })
  return options.provider ?? usual
}
