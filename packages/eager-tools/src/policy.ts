/** Decides how early a call may start, from its effect and the user's policy. */

import { type Effect, type Model, messageOf, type Run, type Tool, type ToolCall } from '@meanwhile/core'

/**
 * What is known of a call's arguments when it starts:
 * - `prefix`: the members that the tool needs are complete, and the call's input consists of only these. The policy is
 *   called again before the tool gets the rest.
 * - `closed`: the JSON object of the arguments is complete and parses. The provider might still change it.
 * - `sealed`: the provider has confirmed that the call will not change.
 */
export type Evidence = 'prefix' | 'closed' | 'sealed'

/** What a `policy` knows about a call. */
export interface PolicyContext {
  /** The tool of the call. */
  readonly tool: Tool
  /** The effect of the call. */
  readonly effect: Effect
  /** How certain the call's arguments are. */
  readonly evidence: Evidence
  /** The model that wrote the call. */
  readonly model: Model
  /** The run of the call. */
  readonly run: Run
}

/**
 * The user's decision about one call: `'start'` (an `external` call only at `sealed`), `'wait'`, or `undefined` (the
 * effect decides). If the policy throws, the call counts as `external` and there is a warning. Any other value is a
 * warning, and the call does not start early.
 */
export type Policy = (call: ToolCall, context: PolicyContext) => 'start' | 'wait' | undefined

/**
 * The earliest evidence on which a call with this effect may start. An `external` call may not start early at all. If a
 * `calls` tool makes calls, core decides when those start.
 */
const EARLIEST: Record<Effect, Evidence | undefined> = {
  read: 'closed',
  idempotent: 'sealed',
  reversible: 'sealed',
  external: undefined,
  calls: 'closed',
}

/** Returns why a call does not start now; `undefined` if it may start. `ask` calls the policy. */
export function deferral(
  { effect, evidence, tool }: Pick<PolicyContext, 'tool' | 'effect' | 'evidence'>,
  ask: () => unknown,
  to: Pick<Run, 'warn'>,
): 'effect' | 'policy' | 'background' | undefined {
  if (tool.background) return 'background'
  // Without `execute` the caller of the run does the work.
  if (!tool.execute) return 'effect'
  // In JavaScript the policy may return any value, even a promise.
  let word: unknown
  try {
    word = ask()
  } catch (error) {
    to.warn({ code: 'policy-failed', message: `the policy threw for ${tool.name}: ${messageOf(error)}` })
    return 'policy'
  }
  if (word === 'wait') return 'policy'
  // An unknown value starts nothing. Every falsy value counts as `undefined`.
  if (word && word !== 'start') {
    // A promise may reject.
    Promise.resolve(word).catch(() => undefined)
    const given = typeof word === 'string' ? `'${word}'` : `a value of type ${typeof word}`
    to.warn({
      code: 'policy-failed',
      message: `the policy returned ${given} for ${tool.name}, not 'start', 'wait' or undefined`,
    })
    return 'policy'
  }
  const earliest = EARLIEST[effect] ?? (word === 'start' ? 'sealed' : undefined)
  return earliest === 'closed' || (earliest === 'sealed' && evidence === 'sealed') ? undefined : 'effect'
}
