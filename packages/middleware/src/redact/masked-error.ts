/** Returns the error with a masked message; otherwise it is the same. */

import { messageOf } from '@meanwhile/core'
import type { Masker } from './masker.ts'

export function maskedError(masker: Masker, error: unknown): unknown {
  const message = messageOf(error)
  const masked = masker.mask(message)
  if (masked === message) return error
  if (!(error instanceof Error)) return masked
  const copy: unknown = Object.create(Object.getPrototypeOf(error), {
    ...Object.getOwnPropertyDescriptors(error),
    message: { value: masked, configurable: true, writable: true },
    stack: { value: masker.mask(String(error.stack)), configurable: true, writable: true },
  })
  return copy
}
