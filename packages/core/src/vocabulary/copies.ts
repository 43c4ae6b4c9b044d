/** Reads what any copy of core has put behind a value, and refuses values of copies with another format. */

import { type Brand, brandOf, COPY } from './brand.ts'
import { ConfigError } from './errors.ts'

/** Returns what a copy of core has put behind a value of this kind, if one has. Throws {@link ConfigError} if that copy has another format. */
export function behind<Content>(kind: Brand['kind'], value: unknown): Content | undefined {
  checkCopy(value)
  const brand = brandOf(value)
  // The cast is right because a content whose type has changed has another format.
  return brand?.kind === kind ? (brand.content as Content) : undefined
}

/** @throws {ConfigError} A copy of core with another format made the value. */
export function checkCopy(value: unknown): void {
  const conflict = conflictOf(value)
  if (conflict) throw conflict
}

/** The error to throw for a value that a copy of core with another format made. */
export function conflictOf(value: unknown): ConfigError | undefined {
  const brand = brandOf(value)
  if (!brand || brand.copy.format === COPY.format) return undefined
  const [here, there] = [COPY, brand.copy].map(
    // The first line of a stack is the message.
    ({ format, version, madeIn }) => `${version} (format ${format}) ${madeIn.stack?.split('\n')[1]?.trim()}`,
  )
  const problem = `two copies cannot work together: ${here}, and ${there}, which made this ${brand.kind}`
  return new ConfigError('@meanwhile/core', `${problem}. Install one version: npm ls @meanwhile/core`)
}
