/** What a wire is told by whoever has a loop of their own. */

import { checkOptions } from '@meanwhile/core'

export interface WireOptions {
  /** Whose provider metadata and options belong to the wire: as that of the adapter. */
  readonly provider?: string
}

/** Throws {@link ConfigError} for an option that there is not. */
export function providerOf(wire: string, options: WireOptions, usual: string): string {
  checkOptions(wire, options, { provider: '' })
  return options.provider ?? usual
}
