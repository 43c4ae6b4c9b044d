/** Defines `runLocal`: values that belong to one run. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { unheard } from '../flow/unheard.ts'
import { CheckpointMismatchError } from '../vocabulary/checkpoint-errors.ts'
import { ConfigError } from '../vocabulary/errors.ts'
import { freeze } from '../vocabulary/history.ts'
import { copiedJson, isRecord } from '../vocabulary/json.ts'
import { checkOptions } from '../vocabulary/option-checks.ts'
import type { Run } from '../vocabulary/tool.ts'
import { stateOf } from './run-view.ts'

/** A run-local value that is saved in checkpoints: after a resume it has the value that was set before the interrupt. */
export interface Cell<Value> {
  /**
   * The value; `initial` until it is set. It is JSON and frozen: to change it, set another value.
   *
   * @throws {TypeError} The schema rejects the new value, or it is not JSON. The old value stays.
   */
  value: Value
  /** Resets the value to `initial`. */
  delete(): void
}

/** The options of a run-local value that checkpoints contain. */
export interface CellOptions<Value> {
  /** The name of the value in checkpoints. It must be unique in an agent: the second use of a key throws {@link ConfigError}. */
  readonly key: string
  /** Checks values that are set, and values from a checkpoint. It must be synchronous. */
  readonly schema: StandardSchemaV1<unknown, Value>
  /** The value in a new run. */
  readonly initial: Value
}

/**
 * Returns a function that returns a value of the run. Each run has its own value: `create` is called once per run, at the first use, and every hook,
 * wrap and tool of that run gets the same value. After the run the value can be garbage-collected. With a key and a schema, the function returns a
 * {@link Cell}, whose value is saved in checkpoints. It throws `TypeError` if its argument is not a `Run`.
 *
 * @throws {ConfigError} Neither is given, or the schema rejects the initial value.
 */
export function runLocal<Value>(options: CellOptions<Value>): (run: Run) => Cell<Value>

export function runLocal<Value>(create: () => Value): (run: Run) => Value

export function runLocal<Value>(given: CellOptions<Value> | (() => Value)): (run: Run) => Value | Cell<Value> {
  if (typeof given !== 'function') return cellAccessor(checkedOptions(given))
  const values = new WeakMap<object, { readonly value: Value }>()
  return (run) => {
    const { scope } = stateOf(run)
    const kept = values.get(scope) ?? { value: given() }
    values.set(scope, kept)
    return kept.value
  }
}

function checkedOptions<Value>(options: CellOptions<Value>): CellOptions<Value> {
  if (!isRecord(options))
    throw new ConfigError('options', 'must be a function that makes the value, or { key, schema, initial }')
  checkOptions('runLocal', options, { key: 'name', schema: '', initial: 'default' })
  const { key, schema } = options
  if (typeof key !== 'string' || key === '')
    throw new ConfigError('key', 'must be a string: it names the value in checkpoints')
  if (typeof schema?.['~standard']?.validate !== 'function')
    throw new ConfigError('schema', 'must be a Standard Schema, such as a zod schema')
  return options
}

function cellAccessor<Value>(options: CellOptions<Value>): (run: Run) => Cell<Value> {
  const { key } = options
  checkInitial(options)
  // Shared by all runs, so one run must not be able to change it for another.
  const initial = freeze(structuredClone(options.initial))
  const owner = {}
  return (run) => {
    const state = stateOf(run)
    const { values, cells, id } = state
    if ((cells.get(key) ?? owner) !== owner) throw new ConfigError('runLocal', `two values have the key "${key}"`)
    cells.set(key, owner)
    const unfit = () => new CheckpointMismatchError(id, `its value of "${key}" does not match its schema`)
    return {
      get value(): Value {
        const value = values.get(key)?.()
        return value === undefined ? initial : freeze(checked(options, value, unfit))
      },
      set value(value) {
        const json = freeze(copiedJson(value, key))
        checked(options, json, (problem) => new TypeError(`${key}: ${problem}`))
        if (!state.over) values.set(key, () => json)
      },
      delete: () => void values.delete(key),
    }
  }
}

/** Sets the value of the cell with this key: `make` returns it, and is called whenever it is read or saved, so that it costs nothing if nobody needs it. */
export function setLater(run: Run, key: string, make: () => string): void {
  const { over, values } = stateOf(run)
  if (!over) values.set(key, make)
}

/** Checks the initial value. If the schema returns a promise, it is rejected only when a value is set. */
function checkInitial<Value>({ key, schema, initial }: CellOptions<Value>): void {
  const result = unheard(schema['~standard'].validate(initial))
  if (!(result instanceof Promise) && result.issues)
    throw new ConfigError('initial', `the schema of "${key}" rejects it: ${problemOf(result)}`)
}

function checked<Value>({ key, schema }: CellOptions<Value>, value: unknown, refused: (why: string) => Error): Value {
  const result = unheard(schema['~standard'].validate(value))
  if (result instanceof Promise) throw new TypeError(`${key}: its schema must be synchronous`)
  if (result.issues) throw refused(problemOf(result))
  return result.value
}

function problemOf({ issues }: StandardSchemaV1.FailureResult): string {
  return issues.map(({ message }) => message).join('; ')
}
