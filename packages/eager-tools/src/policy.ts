/** How early a call may start: by what it does to the world, and by what its user says. */

import { type Effect, type Model, messageOf, type Run, type Tool, type ToolCall } from '@meanwhile/core'

/**
 * What a start stands on. `prefix`: the members that the tool needs to start are complete, and the call's input is these
 * alone; the policy is asked again before the tool gets the rest. `closed`: the arguments' root object has closed and
 * parses, though the provider might still change its mind. `sealed`: not one byte of the call will change.
 */
export type Evidence = 'prefix' | 'closed' | 'sealed'

export interface PolicyContext {
  readonly tool: Tool
  readonly effect: Effect
  readonly evidence: Evidence
  readonly model: Model
  readonly run: Run
}

/**
 * The user's word on one call: `'start'` (an `external` call only at `sealed`), `'wait'`, or nothing: then its effect decides. A
 * throw counts as `external` with nothing said, and is a warning; so is another word, which starts nothing early.
 */
export type Policy = (call: ToolCall, context: PolicyContext) => 'start' | 'wait' | undefined

/** The earliest evidence on which a call of this effect may start; `external` may not start early at all. What `calls` makes core holds back. */
const EARLIEST: Record<Effect, Evidence | undefined> = {
  read: 'closed',
  idempotent: 'sealed',
  reversible: 'sealed',
  external: undefined,
  calls: 'closed',
}

/** Why a call does not start now; `undefined`: it may. `ask`: what the policy says of it. */
export function deferral(
  { effect, evidence, tool }: Pick<PolicyContext, 'tool' | 'effect' | 'evidence'>,
  ask: () => unknown,
  to: Pick<Run, 'warn'>,
): 'effect' | 'policy' | 'background' | undefined {
  if (tool.background) return 'background'
  // Its caller executes it (M15).
  if (!tool.execute) return 'effect'
  // From JavaScript it may be anything, a promise of a word too.
  let word: unknown
  try {
    word = ask()
  } catch (error) {
    to.warn({ code: 'policy-failed', message: `the policy threw for ${tool.name}: ${messageOf(error)}` })
    return 'policy'
  }
  if (word === 'wait') return 'policy'
  // What is not understood starts nothing; nothing is whatever counts as false.
  if (word && word !== 'start') {
    // A promise of a word may be one that rejects.
    Promise.resolve(word).catch(() => undefined)
    const given = typeof word === 'string' ? `'${word}'` : `a value of type ${typeof word}`
    to.warn({
      code: 'policy-failed',
      message: `the policy gave ${given} for ${tool.name}, not 'start', 'wait' or nothing`,
    })
    return 'policy'
  }
  const earliest = EARLIEST[effect] ?? (word === 'start' ? 'sealed' : undefined)
  return earliest === 'closed' || (earliest === 'sealed' && evidence === 'sealed') ? undefined : 'effect'
}
