/**
 * The middleware `eagerTools()`: starts tool calls while the model is still streaming, as early as their arguments and
 * their effect allow.
 */

import {
  type AgentState,
  ConfigError,
  checkOptions,
  type Middleware,
  type OptionNames,
  type Run,
  runLocal,
} from '@meanwhile/core'
import { branded } from '@meanwhile/core/calls'
import { Breaker } from './breaker.ts'
import { Budget, type EagerBudget } from './budget.ts'
import { checkList } from './check-list.ts'
import { checkSchemas } from './kept-input.ts'
import type { Policy } from './policy.ts'
import { StreamedResponse } from './response.ts'
import { RunCalls } from './run-calls.ts'
import { SavingsLedger } from './savings-ledger.ts'
import { checkMayBeMissing, checkNames } from './unknown-names.ts'
import { watched } from './watched-flow.ts'

/** The options of `eagerTools`. */
export interface EagerToolsOptions {
  /** Decides for single calls whether they start early. If it returns `undefined`, the effect of the call decides. */
  readonly policy?: Policy
  /**
   * Names of tools whose calls do not hold back later calls: these may start early without waiting for them, even if
   * such a call is not a `read`. Calls with the same resource key still wait for each other.
   */
  readonly independent?: readonly string[]
  /**
   * Names of tools whose calls always get the same input for the same arguments: `{ book: 'fixed' }`. Their calls start
   * early even if the schema fills in or converts something. Without it, such a call starts early only if its effect is
   * `read`, because the schema may return another value each time, for example a new id.
   */
  readonly schemas?: Readonly<Record<string, 'fixed'>>
  /**
   * Whether the run may lack tools that `independent` and `schemas` name; such a name has no effect. Default `false`: the run
   * ends with `ConfigError` before its first model call.
   */
  readonly mayBeMissing?: boolean
  /**
   * Stops early starts of a tool that has wasted more time than it has saved. Both times decay, so the tool gets
   * another chance later. All runs of this middleware share the counts, for up to 1,000 tools by name. Default `false`.
   */
  readonly budget?: boolean | EagerBudget
}

export const EAGER_OPTIONS: OptionNames<EagerToolsOptions> = {
  policy: '',
  independent: '',
  schemas: '',
  mayBeMissing: '',
  budget: '',
}

/**
 * Starts tool calls while the model is still streaming. This may change when a tool runs, never whether, how often, or
 * with what.
 *
 * When a call starts:
 * - `read` and `calls`: when the arguments are closed, or when the members listed in `needs` are complete; with
 *   `needs: []`, when the name is known. If a `calls` tool makes a call that does more than read, that call waits
 *   until the model call has succeeded.
 * - `idempotent` and `reversible`: when the provider has sealed the call.
 * - `external` (the default): after the model call has succeeded, unless the policy starts it.
 *
 * Arguments are *closed* when their JSON object is complete, and *sealed* when the provider has confirmed that they
 * cannot change. A call is discarded if its response is not accepted or if the loop does not execute it in the end:
 * only this call is aborted, and its result is dropped.
 *
 * These calls never start early: calls whose input fails the schema; calls that are not a `read` and whose schema,
 * `prepareInput` or wrap changes the input, unless `schemas` says that their tool's schema is fixed; calls of unknown
 * tools, and of tools that the request did not offer; calls of the last permitted step; calls after one that is not a
 * `read` and names no resource key; and calls with a resource key that an earlier call names or may still name, if that
 * call has not started.
 *
 * Savings are in `result.savings`; the totals are on the run's span. If a model changes arguments that were already
 * closed, calls of that tool start only when sealed for the rest of the run; after the second time this applies to all
 * tools.
 *
 * @throws {ConfigError} An option does not exist, `policy` is not a function, `independent` is not a list of names, a
 * member of `schemas` is not `'fixed'`, or a member of `budget` is out of range.
 */
export function eagerTools(options: EagerToolsOptions = {}): Middleware {
  checkOptions('eagerTools', options, EAGER_OPTIONS)
  if (options.policy !== undefined && typeof options.policy !== 'function')
    throw new ConfigError('policy', 'must be a function')
  checkList('independent', options.independent)
  checkSchemas(options.schemas)
  checkMayBeMissing(options)
  const independent = new Set(options.independent)
  const budget = options.budget ? new Budget(options.budget === true ? {} : options.budget) : undefined
  const ledgerOf = runLocal(() => new SavingsLedger(budget))
  const breakerOf = runLocal(() => new Breaker())
  return branded('middleware', {
    name: 'eager-tools',
    ...((options.independent || options.schemas) && {
      beforeModel(_: AgentState, run: Run) {
        if (run.step > 1) return
        checkNames(
          options,
          run.setup.tools.map(({ name }) => name),
        )
      },
    }),
    wrapAgent(setup, next, run) {
      const ledger = ledgerOf(run)
      return watched(next(setup), {
        event: (event) => ledger.saw(event, run),
        result: (result) => ({ ...result, savings: ledger.savings }),
        out: () => ledger.over(run),
      })
    },
    wrapModel(request, next, run) {
      const ledger = ledgerOf(run)
      const breaker = breakerOf(run)
      ledger.asked(run)
      const maker = new RunCalls(run, request.model, options, ledger)
      const responses = new Map<number | undefined, StreamedResponse>()
      const responseOf = (attempt: number | undefined) => {
        let response = responses.get(attempt)
        if (!response) {
          response = new StreamedResponse({ maker, independent, breaker })
          responses.set(attempt, response)
        }
        return response
      }
      return watched(next(request), {
        event(event) {
          if (event.type === 'tool-input-start') responseOf(event.attempt).named(event.id, event.name)
          else if (event.type === 'tool-input-ready') responseOf(event.attempt).ready(event.id, event.name, event.input)
          else if (event.type === 'tool-input-closed') responseOf(event.attempt).evidence(event.call, 'closed')
          else if (event.type === 'tool-call') responseOf(event.attempt).evidence(event.call, 'sealed')
        },
        out() {
          for (const response of responses.values()) response.ended()
          ledger.streamEnded()
        },
      })
    },
  })
}
