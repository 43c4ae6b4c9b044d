/** Runs every fault script with tools of every effect, by our rule and by the rules of others, and counts forbidden executions. */

import type { Effect, Middleware } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { toolCallPart } from '../peers/tool-call-part.ts'
import { validJson } from '../peers/valid-json.ts'
import { judge, type Outcome, sumOf } from './judge.ts'
import { VARIANTS, type Variant } from './response.ts'
import { FAULTS, type Fault, type Script } from './scripts.ts'
import { trial } from './trial.ts'

export type Rule = 'ours' | 'valid-json' | 'tool-call-part'

export const RULES: readonly Rule[] = ['ours', 'valid-json', 'tool-call-part']

const EXECUTORS: Readonly<Record<Rule, (script: Script) => Middleware>> = {
  ours: () => eagerTools(),
  'valid-json': () => validJson(),
  'tool-call-part': (script) => toolCallPart(() => script.needsApproval === true),
}

/** A tool of the effect `calls` makes one call of a `read` and one of an `external` tool: these are counted. */
export const EFFECTS: readonly Effect[] = ['read', 'idempotent', 'reversible', 'external', 'calls']

/** One fault with tools of one effect: at all its points, in all variants. */
export interface FaultCell {
  readonly fault: string
  readonly effect: Effect
  /** How many scripts: each runs once without eager tools, and once with each rule. */
  readonly scripts: number
  readonly rules: Readonly<Record<Rule, Outcome>>
}

export interface MatrixOptions {
  /** The forms of the responses. Default: all. */
  readonly variants?: readonly Variant[]
  /** Of the points of a fault the last one, and every so many before it. Default: all. */
  readonly step?: number
  readonly signal?: AbortSignal | undefined
}

/** Rejects with the signal's reason when it aborts. */
export async function faultMatrix({
  variants = VARIANTS,
  step = 1,
  signal,
}: MatrixOptions = {}): Promise<readonly FaultCell[]> {
  const cells: FaultCell[] = []
  for (const fault of FAULTS) {
    for (const effect of EFFECTS) {
      signal?.throwIfAborted()
      cells.push(await cellOf(fault, effect, { variants, step }))
    }
  }
  return cells
}

/** The sum of all cells. */
export function sumOfCells(cells: readonly FaultCell[]): Pick<FaultCell, 'scripts' | 'rules'> {
  return {
    scripts: cells.reduce((sum, { scripts }) => sum + scripts, 0),
    rules: byRule((rule) => sumOf(cells.map(({ rules }) => rules[rule]))),
  }
}

async function cellOf(
  fault: Fault,
  effect: Effect,
  { variants, step }: Required<Omit<MatrixOptions, 'signal'>>,
): Promise<FaultCell> {
  const outcomes: FaultCell['rules'][] = []
  for (const variant of variants) {
    const { turns } = variant
    const scripts = fault.scripts(variant).filter((_, place, { length }) => (length - 1 - place) % step === 0)
    outcomes.push(...(await Promise.all(scripts.map((script) => outcomesOf(script, { effect, turns })))))
  }
  const rules = byRule((rule) => sumOf(outcomes.map((outcome) => outcome[rule])))
  return { fault: fault.title, effect, scripts: outcomes.length, rules }
}

async function outcomesOf(
  script: Script,
  options: { readonly effect: Effect; readonly turns: number },
): Promise<FaultCell['rules']> {
  const waiting = await trial(script, options)
  const by = async (rule: Rule): Promise<Outcome> =>
    judge(await trial(script, options, EXECUTORS[rule](script)), waiting)
  const [ours, validJson, toolCallPart] = await Promise.all([by('ours'), by('valid-json'), by('tool-call-part')])
  return { ours, 'valid-json': validJson, 'tool-call-part': toolCallPart }
}

function byRule(of: (rule: Rule) => Outcome): FaultCell['rules'] {
  return { ours: of('ours'), 'valid-json': of('valid-json'), 'tool-call-part': of('tool-call-part') }
}
