/** Starts tool calls while the model still streams: as early as their arguments are certain and their effect allows. */

import { type Middleware, map } from '@meanwhile/core'
import type { Policy } from './policy.ts'
import { StreamedResponse } from './response.ts'

export interface EagerToolsOptions {
  /** Says of single calls whether they start early; where it says nothing, the call's effect decides. */
  readonly policy?: Policy
  /**
   * Names of tools that are no barrier: later calls of the step may start early past their calls, whatever their effect. It lifts
   * nothing where calls name the same resource key.
   */
  readonly independent?: readonly string[]
}

/**
 * Eager may change when a tool runs, never whether, how often, or with what.
 *
 * A `read` starts when its arguments have closed, or the members it needs of them are there; an `idempotent` or `reversible` call when it is sealed, an `external` one (the
 * default) after the model call has stood, unless the policy names it (H2, H3). A call whose response does not stand, or that the
 * loop does not ask for in the end, is discarded: aborted alone, its result seen by nobody. Never early: calls whose input fails
 * the schema, unknown tools, and calls of the last permitted step (H5); calls behind one that is not a `read` and names no resource
 * key; and calls that name a key which an earlier one that has not started names, or may yet name (H14).
 */
export function eagerTools(options: EagerToolsOptions = {}): Middleware {
  const independent = new Set(options.independent)
  return {
    name: 'eager-tools',
    async *wrapModel(request, next, run) {
      const responses = new Map<number | undefined, StreamedResponse>()
      const responseOf = (attempt: number | undefined) => {
        let response = responses.get(attempt)
        if (!response) {
          response = new StreamedResponse({ run, model: request.model, policy: options.policy, independent })
          responses.set(attempt, response)
        }
        return response
      }
      const flow = map(next(request), (event) => {
        if (event.type === 'tool-input-start') responseOf(event.attempt).named(event.id, event.name)
        else if (event.type === 'tool-input-ready') responseOf(event.attempt).ready(event.id, event.name, event.input)
        else if (event.type === 'tool-input-closed') responseOf(event.attempt).evidence(event.call, 'closed')
        else if (event.type === 'tool-call') responseOf(event.attempt).evidence(event.call, 'sealed')
        return event
      })
      try {
        return yield* flow
      } finally {
        for (const response of responses.values()) response.ended()
      }
    },
  }
}
