/** Ends starts on soft evidence where they have gone wrong: for a tool and its model, then for the model. */

import type { Run, ToolCall } from '@meanwhile/core'
import { sameCall } from '@meanwhile/core/calls'
import type { NamedModel } from './call-maker.ts'
import type { Evidence } from './policy.ts'

/** Of one run. */
export class Breaker {
  readonly #divergences: Map<string, number> = new Map()
  readonly #off: Set<string> = new Set()

  /** Whether calls of this tool wait for their seal. */
  isOpen(model: NamedModel, tool: string): boolean {
    const name = nameOf(model)
    return this.#off.has(name) || this.#off.has(`${name} ${tool}`)
  }

  /** A call of this tool that had started on soft evidence was sealed with something else. Each step down is reported once. */
  diverged(model: NamedModel, tool: string, to: Pick<Run, 'warn'>): void {
    const name = nameOf(model)
    const divergences = (this.#divergences.get(name) ?? 0) + 1
    this.#divergences.set(name, divergences)
    if (divergences > 2) return
    this.#off.add(divergences === 1 ? `${name} ${tool}` : name)
    const what = divergences === 1 ? `calls of ${tool}` : 'all calls'
    const message = `${name} changed the arguments of ${tool} after they had closed: from now on ${what} wait until they are sealed`
    to.warn({ code: 'breaker', message })
  }
}

/** Whether the sealed call is another than the one that was started: of a prefix, whether its members are other ones. */
export function diverges(sealed: ToolCall, started: ToolCall, evidence: Evidence): boolean {
  if (evidence === 'closed') return !sameCall(sealed, started)
  // What is broken off has no members to compare.
  if (sealed.inputError !== undefined) return false
  const whole: Readonly<Record<string, unknown>> = Object(sealed.input)
  const members = Object.keys(Object(started.input)).map((key) => [key, whole[key]])
  return !sameCall({ ...sealed, input: Object.fromEntries(members) }, started)
}

function nameOf({ provider, id }: NamedModel): string {
  return `${provider}/${id}`
}
