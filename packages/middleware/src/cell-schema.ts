/** What a run-local value must be, as a Standard Schema, so that this package needs no schema library. */

import type { CellOptions } from '@meanwhile/core'

/** Takes what `accepts` takes, as it is. */
export function cellSchema<Value>(accepts: (value: unknown) => value is Value): CellOptions<Value>['schema'] {
  return {
    '~standard': {
      version: 1,
      vendor: 'meanwhile',
      validate: (value) => (accepts(value) ? { value } : { issues: [{ message: 'is of another form' }] }),
    },
  }
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
