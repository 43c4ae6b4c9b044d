/** What the steps of one `eager()` have in common: its settings, what it has learned, and whether it still does anything. */

import { messageOf, type Run } from '@meanwhile/core'
import { Breaker } from '../breaker.ts'
import { Budget } from '../budget.ts'
import type { NamedModel } from '../call-maker.ts'
import type { StepSavings } from '../savings.ts'
import { HostCalls } from './host-calls.ts'
import type { HostTool } from './host-tool.ts'
import { checkSettings, type EagerSettings } from './settings.ts'

/** So many steps in a row may end with early calls of which the host has asked for none. */
const MOST_UNASKED = 3

/** What is known of a step before its model is asked. */
export interface HostStep {
  /** All tools that the model may call. */
  readonly tools: readonly HostTool[]
  readonly model?: NamedModel
  /** Ends all that the host does. */
  readonly signal?: AbortSignal | undefined
  /** How many calls the host executes at once. */
  readonly toolConcurrency?: number | undefined
  /** Enters the surroundings in which the host would call a tool. Default: those in which a call starts. */
  enter?<Result>(work: () => Result): Result
}

/** One run of the host's loop: which of its models have changed arguments, and how many steps there were. */
export class HostRun {
  readonly breaker: Breaker = new Breaker()
  steps = 0
}

/** @throws {ConfigError} A setting cannot work. */
export class EagerLoop {
  readonly settings: EagerSettings
  readonly independent: ReadonlySet<string>
  readonly budget: Budget | undefined
  readonly #needed: string
  readonly #told = new Set<string>()
  #unasked = 0

  /** `needed`: the library whose loop it is, and the version. */
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

  /** The calls of one step. `undefined`: none of them can start early. */
  step(run: HostRun, step: HostStep): HostCalls | undefined {
    run.steps++
    if (this.isOff || !step.tools.some(({ early }) => early)) return undefined
    return new HostCalls(this, run, step)
  }

  /** Too many early calls were made for nothing. */
  get isOff(): boolean {
    return this.#unasked >= MOST_UNASKED
  }

  /** A step with early calls is over. `isAsked`: whether the host has asked for any of them; `undefined`: it had no reason to. */
  ended(isAsked: boolean | undefined, savings: () => StepSavings): void {
    if (isAsked) this.#unasked = 0
    else if (isAsked === false && ++this.#unasked === MOST_UNASKED) this.#switchedOff()
    const { onStep } = this.settings
    if (!onStep) return
    try {
      onStep(savings())
    } catch (error) {
      this.warn({ code: 'observer-failed', message: `onStep threw: ${messageOf(error)}` })
    }
  }

  /** The host has made a request that could not be linked to its step. */
  unlinked(): void {
    this.warnOnce(
      'host-unknown',
      `no tool starts early: a request to the model could not be linked to its step. eager() needs ${this.#needed}; is another version installed?`,
    )
  }

  warn({ code, message }: Parameters<Run['warn']>[0]): void {
    const { onWarning } = this.settings
    if (onWarning) onWarning({ code, message, source: 'eager' })
    else emitWarning(code, message)
  }

  #switchedOff(): void {
    this.warnOnce(
      'switched-off',
      `no tool starts early any more: in ${MOST_UNASKED} steps in a row the host asked for none of the calls that had started early. eager() needs ${this.#needed}; is another version installed?`,
    )
  }

  /** However often it is said. */
  warnOnce(code: string, message: string): void {
    const warning = `${code} ${message}`
    if (this.#told.has(warning)) return
    this.#told.add(warning)
    this.warn({ code, message })
  }
}

/** Of these once in a process: an `eager()` may be made for each request. */
const emitted = new Set<string>()

function emitWarning(code: string, message: string): void {
  if (emitted.has(`${code} ${message}`) || emitted.size > MOST_WARNINGS) return
  emitted.add(`${code} ${message}`)
  if (typeof globalThis.process?.emitWarning === 'function')
    globalThis.process.emitWarning(message, { type: 'MeanwhileWarning', code })
  else console.warn(`eager: ${message}`)
}

/** Then no more are written. */
const MOST_WARNINGS = 100
