/** Values that live as long as a run. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { unheard } from '../flow/unheard.ts'
import { CheckpointMismatchError } from '../vocabulary/checkpoint-errors.ts'
import { ConfigError } from '../vocabulary/errors.ts'
import { freeze } from '../vocabulary/history.ts'
import { asJson, isRecord } from '../vocabulary/json.ts'
import { checkOptions } from '../vocabulary/option-checks.ts'
import type { Run } from '../vocabulary/tool.ts'
import { stateOf } from './run-view.ts'

/** A run-local value that checkpoints hold: set before an interrupt, it is there after the resume. */
export interface Cell<Value> {
  /**
   * `initial` until it is set. JSON, frozen once it is set: to change it, set another.
   *
   * @throws {TypeError} On setting what the schema refuses or JSON cannot hold; the old value stays.
   */
  value: Value
  /** Back to `initial`. */
  delete(): void
}

export interface CellOptions<Value> {
  /** Names the value in checkpoints: one of its own in each agent, else the second to be used throws {@link ConfigError}. */
  readonly key: string
  /** Checks at once, without a promise, what is set, and what a checkpoint held. */
  readonly schema: StandardSchemaV1<unknown, Value>
  readonly initial: Value
}

/**
 * An accessor of a value that each run has of its own: `create` runs once, at the first use in a run, and every hook, wrap and
 * tool of that run gets the same value. Nothing keeps the value alive once the run is over. Given a key and a schema
 * instead, the accessor gives a {@link Cell}, whose value is in the checkpoint.
 *
 * The accessor throws `TypeError` when called with anything but a `Run`.
 *
 * @throws {ConfigError} It is given neither, or the schema refuses the initial value.
 */
export function runLocal<Value>(options: CellOptions<Value>): (run: Run) => Cell<Value>

export function runLocal<Value>(create: () => Value): (run: Run) => Value

export function runLocal<Value>(given: CellOptions<Value> | (() => Value)): (run: Run) => Value | Cell<Value> {
  if (typeof given !== 'function') return cellAccessor(checkedOptions(given))
  const values = new WeakMap<object, { readonly value: Value }>()
  return (run) => {
    const { scope } = stateOf(run)
    let kept = values.get(scope)
    if (!kept) {
      kept = { value: given() }
      values.set(scope, kept)
    }
    return kept.value
  }
}

function checkedOptions<Value>(options: CellOptions<Value>): CellOptions<Value> {
  if (!isRecord(options))
    throw new ConfigError('options', 'are missing: a function that makes the value, or { key, schema, initial }')
  checkOptions('runLocal', options, { key: 'name', schema: '', initial: 'default' })
  const { key, schema } = options
  if (typeof key !== 'string' || key === '')
    throw new ConfigError('key', 'must be a text: it names the value in checkpoints')
  if (typeof schema?.['~standard']?.validate !== 'function')
    throw new ConfigError('schema', 'must be a Standard Schema, as zod schemas are')
  return options
}

function cellAccessor<Value>(options: CellOptions<Value>): (run: Run) => Cell<Value> {
  const { key } = options
  checkInitial(options)
  // Shared by all runs, so one run must not be able to change it for another (D2).
  const initial = freeze(structuredClone(options.initial))
  const owner = {}
  return (run) => {
    const { values, id } = stateOf(run)
    const unfit = () => new CheckpointMismatchError(id, `its value of "${key}" does not fit`)
    values.claim(key, owner)
    return {
      get value(): Value {
        return values.has(key) ? freeze(checked(options, values.get(key), unfit)) : initial
      },
      set value(value) {
        const json = freeze(structuredClone(asJson(value, key)))
        checked(options, json, (problem) => new TypeError(`${key}: ${problem}`))
        values.set(key, json)
      },
      delete: () => values.delete(key),
    }
  }
}

/** A schema that checks with a promise is refused when a value is set. */
function checkInitial<Value>({ key, schema, initial }: CellOptions<Value>): void {
  const result = unheard(schema['~standard'].validate(initial))
  if (!(result instanceof Promise) && result.issues)
    throw new ConfigError('initial', `the schema of "${key}" refuses it: ${problemOf(result)}`)
}

function checked<Value>({ key, schema }: CellOptions<Value>, value: unknown, refused: (why: string) => Error): Value {
  const result = unheard(schema['~standard'].validate(value))
  if (result instanceof Promise) throw new TypeError(`${key}: its schema must check at once, without a promise`)
  if (result.issues) throw refused(problemOf(result))
  return result.value
}

function problemOf({ issues }: StandardSchemaV1.FailureResult): string {
  return issues.map(({ message }) => message).join('; ')
}
