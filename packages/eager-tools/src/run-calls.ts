/** Makes the early calls of an agent's run. */

import type { CallOptions, Model, Run, SemanticAttributes, Tool, ToolCall } from '@meanwhile/core'
import type { CallMaker, EarlyStart } from './call-maker.ts'
import { deferral, type Policy } from './policy.ts'
import type { SavingsLedger } from './savings-ledger.ts'

export class RunCalls implements CallMaker {
  readonly model: Model
  readonly #run: Run
  readonly #policy: Policy | undefined
  readonly #ledger: SavingsLedger

  constructor(run: Run, model: Model, policy: Policy | undefined, ledger: SavingsLedger) {
    this.#run = run
    this.model = model
    this.#policy = policy
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

  deferral(call: ToolCall, start: Pick<EarlyStart, 'tool' | 'effect' | 'evidence'>): ReturnType<CallMaker['deferral']> {
    const run = this.#run
    return deferral(start, () => this.#policy?.(call, { ...start, model: this.model, run }), run)
  }

  isSpent(tool: string): boolean {
    return this.#ledger.isSpent(tool, this.#run)
  }

  start(call: ToolCall, { tool, effect, keys, evidence, isLate, rest }: EarlyStart): void {
    const options: CallOptions = {
      ceiling: effect,
      keys,
      attributes: {
        'meanwhile.dispatch.evidence': evidence,
        ...(isLate && { 'meanwhile.dispatch.deferral_reason': 'breaker' }),
      } satisfies SemanticAttributes,
      started: (status) => this.#ledger.started(call.id, tool.name, evidence, status),
    }
    // The loop requests the call again and gets this promise, including its rejection.
    this.#run.callTool(call, rest ? { ...options, rest } : options).catch(() => undefined)
  }

  waited(callId: string, reason: string): void {
    this.#run.annotate({ 'meanwhile.dispatch.deferral_reason': reason } satisfies SemanticAttributes, callId)
  }

  warn(warning: Parameters<Run['warn']>[0]): void {
    this.#run.warn(warning)
  }
}
