/**
 * The circuit breaker: if a model changes arguments that had closed, its calls start only when they are sealed. First
 * this applies to one tool of the model, then to all.
 */

import type { Run, ToolCall } from '@meanwhile/core'
import { sameCall } from '@meanwhile/core/calls'
import type { NamedModel } from './call-maker.ts'
import type { Evidence } from './policy.ts'

/** The state for one run. */
export class Breaker {
  readonly #divergences: Map<string, number> = new Map()
  readonly #off: Set<string> = new Set()

  /** Whether calls of this tool must wait for their seal. */
  isOpen(model: NamedModel, tool: string): boolean {
    const name = nameOf(model)
    return this.#off.has(name) || this.#off.has(`${name} ${tool}`)
  }

  /**
   * Records that a call of this tool started before its seal and was sealed with other arguments. Each escalation warns
   * once.
   */
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

/**
 * Whether the sealed call differs from the one that was started. If that one had only the needed members, only these
 * are compared.
 */
export function diverges(sealed: ToolCall, started: ToolCall, evidence: Evidence): boolean {
  if (evidence === 'closed') return !sameCall(sealed, started)
  // Truncated arguments have no members to compare.
  if (sealed.inputError !== undefined) return false
  const whole: Readonly<Record<string, unknown>> = Object(sealed.input)
  const members = Object.keys(Object(started.input)).map((key) => [key, whole[key]])
  return !sameCall({ ...sealed, input: Object.fromEntries(members) }, started)
}

function nameOf({ provider, id }: NamedModel): string {
  return `${provider}/${id}`
}
