/** What a run-local value, or an answer, must be, as a Standard Schema: this package needs no schema library. */

import type { CellOptions } from '@meanwhile/core'

/** Takes what `accepts` takes, as it is; `problem` says what is wrong with anything else. */
export function schemaOf<Value>(
  accepts: (value: unknown) => value is Value,
  problem = 'is of another form',
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
