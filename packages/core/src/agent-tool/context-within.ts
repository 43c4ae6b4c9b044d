/** Computes the context of an agent inside a call. It is checked before the calling run's first model call, like that of its own tools. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { UserContext } from '../state/user-context.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { ContextError } from '../vocabulary/errors.ts'

/** A schema whose value all runs of the agent in one calling run share, so that it is checked only once. */
export type ContextWithin = StandardSchemaV1<unknown, UserContext>

/** Returns nothing if nothing has to be made or checked: the agent then has the context of the calling run. */
export function contextWithin(agent: AgentConfig, change?: (outer: unknown) => unknown): ContextWithin | undefined {
  const needs = [...agent.setup.tools, ...agent.middleware].some(({ context }) => context)
  if (!change && !needs) return undefined
  const validate = async (outer: unknown): Promise<StandardSchemaV1.Result<UserContext>> => {
    const value = new UserContext(change ? await change(outer) : outer)
    try {
      await value.checkFor(agent)
      return { value }
    } catch (error) {
      if (!(error instanceof ContextError)) throw error
      return { issues: error.issues.map(({ path, message }) => ({ path: [path], message })) }
    }
  }
  return { '~standard': { version: 1, vendor: 'meanwhile', validate } }
}
