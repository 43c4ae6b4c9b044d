/** Builds a Standard Schema for run-local values and answers, so that this package needs no schema library. */

import type { CellOptions } from '@meanwhile/core'

/** Accepts the values that `accepts` accepts, unchanged; `problem` is the message for all others. */
export function schemaOf<Value>(
  accepts: (value: unknown) => value is Value,
  problem = 'has an invalid form',
): CellOptions<Value>['schema'] {
  return {
    '~standard': {
      version: 1,
      vendor: 'meanwhile',
      validate: (value) => (accepts(value) ? { value } : { issues: [{ message: problem }] }),
    },
  }
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
