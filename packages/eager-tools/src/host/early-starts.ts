/** How calls of one step start early: the calls of its last response, and those of all its responses that have started. */

import type { Tool, ToolCall } from '@meanwhile/core'
import { sameCall } from '@meanwhile/core/calls'
import type { CallMaker, EarlyStart, NamedModel } from '../call-maker.ts'
import { mustKeepInput } from '../kept-input.ts'
import { deferral } from '../policy.ts'
import { StreamedResponse } from '../response.ts'
import { sameValue } from '../same-value.ts'
import type { EagerLoop, HostRun } from './eager-loop.ts'
import { EarlyCall, type EarlyHost } from './early-call.ts'
import { EarlyCalls } from './early-calls.ts'
import { HeardResponse } from './heard-response.ts'
import { type EarlyTool, type HostInput, type HostTool, toolFor } from './host-tool.ts'

/** What is known of a step before its model request. */
export interface HostStep {
  /** All tools that the model may call. */
  readonly tools: readonly HostTool[]
  readonly model?: NamedModel
  /** Aborts everything the host does. */
  readonly signal?: AbortSignal | undefined
  /** How many calls the host executes at once. Default: no limit. */
  readonly toolConcurrency?: number | undefined
  /** How many early calls may execute at once. Default: as many as the host executes. */
  readonly earlySlots?: number | undefined
  /** How long a response may be silent before another one is requested in its place, in milliseconds: `hold` begins after that. */
  readonly silence?: number | undefined
  /** The response has ended, and until then `mayStart` of the tool has kept a call with this id from starting. */
  keptBack?(id: string | undefined): void
  /**
   * Runs `work` in the async context in which the host would call a tool. Default: the context in which the call
   * starts.
   */
  enter?<Result>(work: () => Result): Result
}

export interface EarlyStartsOptions {
  readonly loop: EagerLoop
  readonly run: HostRun
  readonly step: HostStep
  /** How many early calls may execute at once. */
  readonly slots: number
  /** Whether a response is streaming, so that its calls may start. */
  isOpen(): boolean
  /** What an early call needs from its step. Called for each call, before it starts. */
  host(): EarlyHost
  /** Called when a call has been added, if any call has started by then. */
  started(): void
}

const UNKNOWN: NamedModel = { provider: 'unknown', id: 'unknown' }

export class EarlyStarts {
  /** When the arguments of each call were complete, by call id. */
  readonly certain: Map<string, number> = new Map()
  readonly #options: EarlyStartsOptions
  readonly #step: number
  readonly #early: EarlyCalls
  #attempt = 1
  #response: HeardResponse | undefined
  #rules: readonly Tool[] | undefined

  constructor(options: EarlyStartsOptions) {
    const { run, slots, loop } = options
    this.#options = options
    this.#step = run.steps
    this.#early = new EarlyCalls(
      slots,
      (early) => options.isOpen() && !loop.isBarred(early.tool.name) && this.#mayStart(early),
    )
  }

  /** Counts the responses that the host has requested in this step. */
  get attempt(): number {
    return this.#attempt
  }

  /** The last response. `undefined` while it has no call. */
  get response(): HeardResponse | undefined {
    return this.#response
  }

  /** The calls of the last response, in call order. */
  get requested(): readonly ToolCall[] {
    return this.#response?.calls ?? []
  }

  /** The calls that have started, in that order. */
  get begun(): readonly EarlyCall[] {
    return this.#early.begun
  }

  /** The last response, whose first call begins or has begun. Most responses have none, so it is created here. */
  hear(): HeardResponse {
    const { loop, run } = this.#options
    this.#response ??= new HeardResponse(
      new StreamedResponse({
        maker: this.#maker(this.#attempt),
        independent: loop.independent,
        breaker: run.breaker,
      }),
    )
    return this.#response
  }

  /** Calls that wait do not start. */
  clear(): void {
    this.#early.clear()
  }

  /** The host requests another response. Calls of the last one that wait do not start. */
  next(): void {
    this.clear()
    this.#response = undefined
    this.#attempt++
  }

  /** Starts the calls that wait and may start now. */
  go(): void {
    this.#early.go()
  }

  /** The last response has ended. Returns the ids of the calls that `mayStart` of their tool has kept back until now. */
  end(): readonly (string | undefined)[] {
    return this.#early.clear().flatMap((early) => (this.#mayStart(early) ? [] : [early.hostId]))
  }

  toolOf(name: string): EarlyTool | undefined {
    return this.#options.step.tools.find((tool) => tool.name === name)?.early
  }

  #mayStart(early: EarlyCall): boolean {
    const { hostId: id, tool } = early
    return this.toolOf(tool.name)?.mayStart?.({ id, isWith: (input) => early.isWith(input) }) ?? true
  }

  /** The call maker for one response. It starts nothing once another one was requested. */
  #maker(attempt: number): CallMaker {
    const { loop, slots, step } = this.#options
    const { model = UNKNOWN, tools } = step
    // The rules pass such a tool through unchanged.
    this.#rules ??= tools.map((tool) => toolFor(tool) as Tool)
    return {
      tools: this.#rules,
      model,
      toolConcurrency: slots,
      isLastStep: false,
      warm: () => undefined,
      certain: (callId, isCertain) => {
        if (isCertain) this.certain.set(callId, performance.now())
        else this.certain.delete(callId)
      },
      deferral: (call, start) => this.#deferral(call, start, model),
      isSpent: (tool) => loop.budget?.isSpent(tool) ?? false,
      start: (call, start) => {
        if (this.#options.isOpen() && attempt === this.#attempt) this.#start(call, start)
      },
      waited: () => undefined,
      warn: (warning) => loop.warn(warning),
    }
  }

  #deferral(
    call: ToolCall,
    { input, ...start }: Pick<EarlyStart, 'tool' | 'effect' | 'evidence' | 'input'>,
    model: NamedModel,
  ): ReturnType<CallMaker['deferral']> {
    const { loop, run } = this.#options
    const { effect, evidence } = start
    const { policy, schemas } = loop.settings
    if (effect === 'external' || effect === 'calls' || evidence === 'prefix') return 'effect'
    if (loop.isBarred(call.name)) return 'schema'
    const { written, value } = input as HostInput
    const taken = this.toolOf(call.name)?.checksItself ? written : value
    for (const early of run.leaving) if (early.tool.name === call.name && early.isWith(taken)) return 'effect'
    const reason = deferral(start, () => policy?.(call, { effect, evidence, model }), loop)
    if (reason || !mustKeepInput(call.name, effect, schemas)) return reason
    return this.#keepsInput(call.name, input as HostInput) ? undefined : 'schema'
  }

  #keepsInput(name: string, { written, value }: HostInput): boolean {
    return this.toolOf(name)?.keepsInput?.(written) ?? sameValue(written, value)
  }

  #start(call: ToolCall, { input, effect, keys, evidence }: EarlyStart): void {
    const tool = this.toolOf(call.name)
    const response = this.#response
    if (!tool || !response) return
    const same = this.begun.filter((early) => early.call.id === call.id && early.attempt === this.#attempt)
    for (const early of same) early.discard('arguments_changed', new Error('the arguments have changed'))
    const held = this.begun.find((early) => early.isOpen && early.attempt < this.#attempt && sameCall(early.call, call))
    if (held) {
      held.call = call
      held.hostId = response.hostIdOf(call.id)
      held.attempt = this.#attempt
      return
    }
    const { value, context } = input as HostInput
    const early = new EarlyCall(
      {
        call,
        tool,
        value,
        context,
        effect,
        keys,
        evidence,
        hostId: response.hostIdOf(call.id),
        step: this.#step,
        attempt: this.#attempt,
        text: () => response.textOf(call),
      },
      this.#options.host(),
    )
    this.#early.add(early)
    if (this.begun.length > 0) this.#options.started()
  }
}
