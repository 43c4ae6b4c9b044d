/** Starts tool calls while the model still streams: as early as their arguments are certain and their effect allows. */

import { ConfigError, checkOptions, type Middleware, type OptionNames, runLocal } from '@meanwhile/core'
import { Breaker } from './breaker.ts'
import { Budget, type EagerBudget } from './budget.ts'
import { checkList } from './check-list.ts'
import type { Policy } from './policy.ts'
import { StreamedResponse } from './response.ts'
import { RunCalls } from './run-calls.ts'
import { SavingsLedger } from './savings-ledger.ts'
import { watched } from './watched-flow.ts'

export interface EagerToolsOptions {
  /** Says of single calls whether they start early; where it says nothing, the call's effect decides. */
  readonly policy?: Policy
  /**
   * Names of tools that are no barrier: later calls of the step may start early past their calls, whatever their effect. It lifts
   * nothing where calls name the same resource key.
   */
  readonly independent?: readonly string[]
  /**
   * Tools that have wasted more time than they have saved are not started early for a while; both count less as they grow old, so
   * that a tool comes back. Kept in this middleware, over all its runs, for up to 1,000 tools by name. Default `false`.
   */
  readonly budget?: boolean | EagerBudget
}

export const EAGER_OPTIONS: OptionNames<EagerToolsOptions> = { policy: '', independent: '', budget: '' }

/**
 * Eager may change when a tool runs, never whether, how often, or with what.
 *
 * A `read` or `calls` starts when its arguments have closed, or the members it needs of them are there: if it needs none, with its
 * name. What a `calls` makes that does more than read waits until the model call has stood. An `idempotent` or `reversible` call
 * starts when it is sealed, an `external` one (the default) after the model call has stood, unless the policy names it. A call whose
 * response does not stand, or that the loop does not ask for in the end, is discarded:
 * aborted alone, its result seen by nobody. Never early: calls whose input fails the schema, unknown tools, and calls of
 * the last permitted step; calls behind one that is not a `read` and names no resource key; and calls that name a key
 * which an earlier one that has not started names, or may yet name.
 *
 * What that has brought is in `result.savings`, and in all on the run's span. If a model is caught changing arguments
 * that had closed, the calls of that tool wait for their seals for the rest of the run, at the second time those of all
 * tools.
 *
 * @throws {ConfigError} There is no such option, `policy` is no function, `independent` no list of names, or a member of `budget`
 *   is out of range.
 */
export function eagerTools(options: EagerToolsOptions = {}): Middleware {
  checkOptions('eagerTools', options, EAGER_OPTIONS)
  if (options.policy !== undefined && typeof options.policy !== 'function')
    throw new ConfigError('policy', 'must be a function')
  checkList('independent', options.independent)
  const independent = new Set(options.independent)
  const budget = options.budget ? new Budget(options.budget === true ? {} : options.budget) : undefined
  const ledgerOf = runLocal(() => new SavingsLedger(budget))
  const breakerOf = runLocal(() => new Breaker())
  return {
    name: 'eager-tools',
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
      const maker = new RunCalls(run, request.model, options.policy, ledger)
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
  }
}
