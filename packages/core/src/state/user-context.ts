/** Holds the context that a run received, and the parts of it that tools and middleware need. It is neither stored nor shown. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { described, type Validated, validated } from '../vocabulary/checked-input.ts'
import { ContextError, type Issue } from '../vocabulary/errors.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import type { Tool } from '../vocabulary/tool.ts'

type Needing = Pick<Tool, 'name' | 'input' | 'context'> | Pick<Middleware, 'name' | 'context'>

/** What the schema throws may contain parts of the context, so it is only the cause. */
const THREW = () => 'its schema threw'

export class UserContext {
  readonly given: unknown
  readonly checked: Map<StandardSchemaV1, Validated> = new Map()

  constructor(given: unknown) {
    this.given = given
  }

  /** Checks the context for all tools and middleware of an agent. Throws the errors of {@link check}. */
  checkFor({ setup, middleware }: Pick<AgentConfig, 'setup' | 'middleware'>): Promise<undefined> | undefined {
    return this.check([...setup.tools, ...middleware])
  }

  /**
   * Checks the context for all of these, using each schema once. If none needs a context, it returns at once, and a run begins in the same
   * turn.
   *
   * @throws {ContextError} The context does not fit at least one of them. The promise rejects with this error.
   */
  check(all: readonly Needing[]): Promise<undefined> | undefined {
    return all.some(({ context }) => context) ? this.#check(all) : undefined
  }

  async #check(all: readonly Needing[]): Promise<undefined> {
    const found: Issue[] = []
    let thrown: unknown
    for (const one of all) {
      const { name, context } = one
      if (!context) continue
      const checked = this.checked.get(context) ?? (await validated(context, this.given, THREW))
      this.checked.set(context, checked)
      const { issues = [], cause } = checked
      const by = `${'input' in one ? 'tool' : 'middleware'} ${name}`
      for (const { path = [], message } of issues) found.push(described({ path: [by, ...path], message }))
      thrown ??= cause
    }
    if (found.length > 0) throw new ContextError(found, { cause: thrown })
    return undefined
  }
}
