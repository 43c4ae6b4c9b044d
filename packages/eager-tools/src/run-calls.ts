/** Makes the early calls of an agent's run. */

import type { CallOptions, Model, Run, SemanticAttributes, Tool, ToolCall } from '@meanwhile/core'
import type { CallMaker, EarlyStart } from './call-maker.ts'
import { mustKeepInput, type Schemas } from './kept-input.ts'
import { deferral, type Policy } from './policy.ts'
import { sameValue } from './same-value.ts'
import type { SavingsLedger } from './savings-ledger.ts'

/** The options that decide about single calls. */
interface CallRules {
  readonly policy?: Policy
  readonly schemas?: Schemas
}

export class RunCalls implements CallMaker {
  readonly model: Model
  readonly #run: Run
  readonly #rules: CallRules
  readonly #ledger: SavingsLedger

  constructor(run: Run, model: Model, rules: CallRules, ledger: SavingsLedger) {
    this.#run = run
    this.model = model
    this.#rules = rules
    this.#ledger = ledger
  }

  get tools(): readonly Tool[] {
    return this.#run.setup.tools
  }

  get toolConcurrency(): number {
    return this.#run.setup.toolConcurrency
  }

  get isLastStep(): boolean {
    const { step, setup } = this.#run
    return step >= setup.maxSteps
  }

  warm(callId: string, tool: string): void {
    this.#run.warm(callId, tool)
  }

  certain(callId: string, isCertain: boolean): void {
    this.#ledger.certain(callId, isCertain)
  }

  deferral(
    call: ToolCall,
    { input, ...start }: Pick<EarlyStart, 'tool' | 'effect' | 'evidence' | 'input'>,
  ): ReturnType<CallMaker['deferral']> {
    const run = this.#run
    const { policy } = this.#rules
    const reason = deferral(start, () => policy?.(call, { ...start, model: this.model, run }), run)
    return reason ?? (this.#mustKeepInput(start) && !sameValue(input, call.input) ? 'schema' : undefined)
  }

  isSpent(tool: string): boolean {
    return this.#ledger.isSpent(tool, this.#run)
  }

  start(call: ToolCall, { tool, effect, keys, evidence, isLate, rest }: EarlyStart): void {
    const options: CallOptions = {
      ceiling: effect,
      keys,
      ...(this.#mustKeepInput({ tool, effect }) && { allow: isKept }),
      attributes: {
        'meanwhile.dispatch.evidence': evidence,
        ...this.#closed(call.id),
        ...(isLate && { 'meanwhile.dispatch.deferral_reason': 'breaker' }),
      } satisfies SemanticAttributes,
      started: (status) => this.#ledger.started(call.id, tool.name, evidence, status),
    }
    // The loop requests the call again and gets this promise, including its rejection.
    this.#run.callTool(call, rest ? { ...options, rest } : options).catch(() => undefined)
  }

  waited(callId: string, reason: string, behind: string | undefined): void {
    const why = {
      'meanwhile.dispatch.deferral_reason': reason,
      ...(behind !== undefined && { 'meanwhile.dispatch.waited_for': behind }),
      ...this.#closed(callId),
    }
    this.#run.annotate(why satisfies SemanticAttributes, callId)
  }

  warn(warning: Parameters<Run['warn']>[0]): void {
    this.#run.warn(warning)
  }

  /** For how long its arguments have been complete. */
  #closed(callId: string): { 'meanwhile.arguments.closed'?: number } {
    const since = this.#ledger.certainSince(callId)
    return since === undefined ? {} : { 'meanwhile.arguments.closed': (performance.now() - since) / 1000 }
  }

  #mustKeepInput({ tool, effect }: Pick<EarlyStart, 'tool' | 'effect'>): boolean {
    return mustKeepInput(tool.name, effect, this.#rules.schemas)
  }
}

/**
 * For the input that the tool really gets, after `prepareInput` and all wraps. It is not known yet if the call starts
 * with only the members that its tool needs: those were compared before the start.
 */
function isKept(input: unknown, written: unknown): boolean {
  return input === undefined || sameValue(input, written)
}
