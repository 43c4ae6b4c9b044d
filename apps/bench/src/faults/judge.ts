/** Compares the executions of an eager run with those of a run without eager tools, and counts what the promise forbids. */

import type { Effect } from '@meanwhile/core'
import type { Trial } from './trial.ts'

/** How many forbidden executions there were, and how many began early. */
export interface Outcome {
  /** With arguments that no call had in the end. */
  readonly wrong: number
  /** Of a call that the other run did not make. */
  readonly extra: number
  /** That the other run made, and this one did not. */
  readonly missing: number
  /** Of a call that had already been executed. */
  readonly twice: number
  /** Whose effect stands in the other run, and was undone in this one. */
  readonly undone: number
  /** While the model was streaming: that is not forbidden. */
  readonly early: number
}

/**
 * Counts what is forbidden in `eager`, compared with the same script without eager tools. An additional execution of a `read` is waste, not harm, if
 * its response was not accepted or its arguments changed; of an `idempotent` or `reversible` call, if it was sealed when it
 * started; of an `external` one, never. No call may be executed twice, whatever its effect.
 */
export function judge(eager: Trial, waiting: Trial): Outcome {
  const effects = new Set([...eager.executions, ...waiting.executions].map(({ effect }) => effect))
  const undone = [...eager.done].filter((what) => waiting.standing.has(what) && !eager.standing.has(what)).length
  return sumOf([...[...effects].map((effect) => judgeThose(effect, eager, waiting)), { ...NOTHING, undone }])
}

/** The executions of the tool with this effect: a trial has only one, except when that calls others. */
function judgeThose(effect: Effect, eager: Trial, waiting: Trial): Outcome {
  const executions = eager.executions.filter((execution) => execution.effect === effect)
  const usual = tally(waiting.executions.filter((execution) => execution.effect === effect))
  const made = tally(executions)
  const sealed = tally(executions.filter((execution) => execution.sealed))
  const { asked, changed } = callsOf(eager)
  const early = executions.filter((execution) => execution.early).length

  const forbidden = [...new Set([...usual.keys(), ...made.keys()])].map((what) => {
    const times = made.get(what) ?? 0
    const rightly = usual.get(what) ?? 0
    const final = asked.get(what) ?? 0
    // Until its arguments changed it was another call.
    const calls = Math.max(rightly, final + (effect === 'read' ? (changed.get(what) ?? 0) : 0))
    const startable = effect === 'read' ? calls : effect === 'external' ? 0 : Math.min(calls, sealed.get(what) ?? 0)
    const missing = Math.max(0, rightly - times)
    const excess = Math.max(0, times - Math.max(rightly, startable))
    if (final === 0 && rightly === 0) return { ...NOTHING, wrong: excess, missing }
    const twice = Math.min(excess, Math.max(0, times - calls))
    return { ...NOTHING, extra: excess - twice, missing, twice }
  })
  return { ...sumOf(forbidden), early }
}

const NOTHING: Outcome = { wrong: 0, extra: 0, missing: 0, twice: 0, undone: 0, early: 0 }

/** How many of them are forbidden. */
export function forbiddenOf({ wrong, extra, missing, twice, undone }: Outcome): number {
  return wrong + extra + missing + twice + undone
}

export function sumOf(outcomes: readonly Outcome[]): Outcome {
  const sum = (of: (outcome: Outcome) => number): number => outcomes.reduce((total, outcome) => total + of(outcome), 0)
  return {
    wrong: sum(({ wrong }) => wrong),
    extra: sum(({ extra }) => extra),
    missing: sum(({ missing }) => missing),
    twice: sum(({ twice }) => twice),
    undone: sum(({ undone }) => undone),
    early: sum(({ early }) => early),
  }
}

/** How often each was requested in the end, by the attempt that did so most often; and how often with arguments that were then changed. */
function callsOf({ attempts }: Trial): {
  readonly asked: ReadonlyMap<string, number>
  readonly changed: ReadonlyMap<string, number>
} {
  const asked = new Map<string, number>()
  for (const calls of attempts) {
    const finals = tally([...calls.values()].flatMap((said) => said.slice(-1)))
    for (const [what, times] of finals) asked.set(what, Math.max(asked.get(what) ?? 0, times))
  }
  const left = attempts.flatMap((calls) =>
    [...calls.values()].flatMap((said) => said.slice(0, -1).filter((one) => one.what !== said.at(-1)?.what)),
  )
  return { asked, changed: tally(left) }
}

function tally(all: readonly { readonly what: string }[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { what } of all) counts.set(what, (counts.get(what) ?? 0) + 1)
  return counts
}
