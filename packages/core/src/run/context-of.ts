/** Defines `contextOf`, which reads a part of the context of a run. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { unheard } from '../flow/unheard.ts'
import type { Actor } from '../state/actor.ts'
import { described } from '../vocabulary/checked-input.ts'
import { ConfigError, ContextError } from '../vocabulary/errors.ts'
import { checkSchema } from '../vocabulary/option-checks.ts'
import type { Run } from '../vocabulary/tool.ts'
import { actorOf } from './run-view.ts'

/** Reads a part of the context of a run. It is also a schema: use it as the `context` of a tool or middleware. */
export interface ContextReader<Context, Given = unknown> extends StandardSchemaV1<Given, Context> {
  /**
   * Returns the value that the schema returned for the context of the run. It is the same value in the whole run.
   *
   * @throws {ContextError} The context does not match; or the schema is asynchronous, and no tool or middleware of the run declares it.
   * @throws {TypeError} The argument is not a `Run`.
   */
  (run: Run): Context
}

/**
 * Returns a reader of the part of a run's context that this schema describes: for hooks, wraps, policies, instructions and telemetry.
 *
 * @throws {ConfigError} The value is not a Standard Schema.
 */
export function contextOf<Context, Given>(schema: StandardSchemaV1<Given, Context>): ContextReader<Context, Given> {
  if (!schema) throw new ConfigError('schema', 'is missing')
  checkSchema('schema', schema)
  const read = (run: Run) => {
    const { state, actor } = actorOf(run)
    const { userContext } = state
    const known = userContext.checked.get(reader)
    if (known && !known.issues) return known.value as Context
    const checked = unheard(schema['~standard'].validate(userContext.given))
    if (checked instanceof Promise) throw unfit(actor, [NOT_DECLARED])
    if (checked.issues) throw unfit(actor, checked.issues)
    userContext.checked.set(reader, checked)
    return checked.value
  }
  const reader: ContextReader<Context, Given> = Object.assign(read, { '~standard': schema['~standard'] })
  return reader
}

const NOT_DECLARED: StandardSchemaV1.Issue = {
  message: 'its schema returns a promise: declare this reader as the context of a middleware',
}

function unfit({ source }: Actor, issues: readonly StandardSchemaV1.Issue[]): ContextError {
  return new ContextError(issues.map(({ path = [], message }) => described({ path: [source, ...path], message })))
}
