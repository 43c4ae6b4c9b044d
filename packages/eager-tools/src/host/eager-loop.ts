/** The shared state of one `eager()`: its settings, budget and warnings, and which tools start early no more. */

import { messageOf, type Run } from '@meanwhile/core'
import { Breaker } from '../breaker.ts'
import { Budget } from '../budget.ts'
import { emitWarning, observe } from '../emit-warning.ts'
import type { StepSavings } from '../savings.ts'
import { type Clearing, clearing } from './clearing.ts'
import type { EarlyCall } from './early-call.ts'
import { checkSettings, type EagerSettings } from './settings.ts'

/** After this many steps in a row in which the host used none of a tool's early calls, the tool starts early no more. */
const MOST_UNUSED = 3

/**
 * What the host did with a tool's early calls in one step:
 * - `used`: it used at least one.
 * - `changed`: it executed the tool with other arguments.
 * - `unused`: it did not execute the calls, or eager() could not recognize them.
 */
export type HostUse = 'used' | 'changed' | 'unused'

/** One run of the host's loop: its step count, and which models have changed arguments. */
export class HostRun {
  readonly breaker: Breaker = new Breaker()
  /** Early calls above `read` that are not used, until they have settled and been undone. */
  readonly leaving: Set<EarlyCall> = new Set()
  steps = 0
}

/** @throws {ConfigError} A setting is invalid. */
export class EagerLoop {
  readonly settings: EagerSettings
  readonly independent: ReadonlySet<string>
  readonly budget: Budget | undefined
  /** Those of all runs. See {@link HostRun.leaving}. */
  readonly leaving: Set<EarlyCall> = new Set()
  readonly #needed: string
  readonly #told = new Set<string>()
  /** Tools that start early no more. */
  readonly #barred = new Set<string>()
  /** By tool: what the host did in the last steps, if it has used none of its early calls in them. */
  readonly #unused = new Map<string, readonly HostUse[]>()
  /** Whether any early call was recognized when the host executed it. */
  #hasAsked = false

  /** `needed`: the name and version of the library whose loop this is. */
  constructor(settings: EagerSettings, needed: string) {
    checkSettings(settings)
    const { independent = [], budget } = settings
    this.settings = settings
    this.#needed = needed
    this.independent = new Set(independent)
    this.budget = budget ? new Budget(budget === true ? {} : budget) : undefined
  }

  run(): HostRun {
    return new HostRun()
  }

  /**
   * The host makes a call that belongs to no known step, such as one that was approved in a later run. Unused early runs of
   * it must be over first.
   */
  cleared(id: string | undefined, name: string, input: unknown, signal?: AbortSignal): Clearing | undefined {
    if (id === undefined || this.leaving.size === 0) return undefined
    const runs = [...this.leaving].filter((one) => one.hostId === id && one.tool.name === name && one.isWith(input))
    return clearing(name, runs, this.settings.hold, signal)
  }

  /** A step with early calls is over. `uses`: by tool, without the tools that the host had no reason to execute. */
  ended(uses: ReadonlyMap<string, HostUse>, savings: () => StepSavings): void {
    if ([...uses.values()].some((use) => use !== 'unused')) this.#hasAsked = true
    for (const [tool, use] of uses) this.#ended(tool, use)
    const { onStep } = this.settings
    if (!onStep) return
    observe(
      () => onStep(savings()),
      (error) => this.warn({ code: 'observer-failed', message: `onStep threw: ${messageOf(error)}` }),
    )
  }

  #ended(tool: string, use: HostUse): void {
    if (this.isBarred(tool)) return
    const uses = use === 'used' ? [] : [...(this.#unused.get(tool) ?? []), use]
    this.#unused.set(tool, uses)
    if (uses.length < MOST_UNUSED) return
    const what = uses.every((one) => one === 'changed')
      ? `in ${MOST_UNUSED} steps in a row it was executed with other arguments than the model had written`
      : `in ${MOST_UNUSED} steps in a row none of its calls that had started early was used`
    const version = this.#hasAsked ? '' : `. eager() needs ${this.#needed}; is another version installed?`
    this.bar(tool, 'switched-off', what + version)
  }

  /** Whether calls of a tool do not start early any more. */
  isBarred(tool: string): boolean {
    return this.#barred.has(tool)
  }

  /** Calls of a tool do not start early any more. The first time, there is a warning with the reason. */
  bar(tool: string, code: string, reason: string): void {
    if (this.#barred.has(tool)) return
    this.#barred.add(tool)
    this.warn({ code, message: `${tool} does not start early any more: ${reason}` })
  }

  /** An early call has read something that exists only when the response has ended. */
  declined(tool: string, member: string): void {
    const reason = `it reads ${member}, which exists only when the response has ended, and the call is executed again`
    this.bar(tool, 'tool-declined', reason)
  }

  /** For the same arguments, the host's check returned another input than that of an early call. */
  differs(tool: string, members: readonly string[]): void {
    const where = members.length > 0 ? ` (the difference is in ${members.join(', ')})` : ''
    const reason = `for the same arguments its schema has returned two different inputs${where}, and the call is executed with both`
    this.bar(tool, 'schema-differs', reason)
  }

  /** A model request of the host could not be linked to its step. `why`: if the cause is known. */
  unlinked(why = `eager() needs ${this.#needed}; is another version installed?`): void {
    this.warnOnce('host-unknown', `no tool starts early: a model request could not be linked to its step. ${why}`)
  }

  warn({ code, message }: Parameters<Run['warn']>[0]): void {
    const { onWarning } = this.settings
    if (!onWarning) {
      emitWarning('eager', code, message)
      return
    }
    // Warnings arise in the middle of a change of state, which an error must not leave half done.
    observe(
      () => onWarning({ code, message, source: 'eager' }),
      (error) =>
        emitWarning(
          'eager',
          'observer-failed',
          `onWarning threw: ${messageOf(error)}. It had received ${code}: ${message}`,
        ),
    )
  }

  /** Sends each warning only once. */
  warnOnce(code: string, message: string): void {
    const warning = `${code} ${message}`
    if (this.#told.has(warning)) return
    this.#told.add(warning)
    this.warn({ code, message })
  }
}
