/**
 * The calls of one step of another library's loop (the host). They start while the response streams. The host joins
 * them when it executes them; calls it does not execute are discarded. Calls that did not start early are made by the
 * host.
 */

import type { DiscardCause, Tool, ToolCall } from '@meanwhile/core'
import { activeContext, follow, sameCall, Telemetry } from '@meanwhile/core/calls'
import type { CallMaker, EarlyStart, NamedModel } from '../call-maker.ts'
import { mustKeepInput } from '../kept-input.ts'
import { deferral } from '../policy.ts'
import { StreamedResponse } from '../response.ts'
import { differingMembers, sameValue } from '../same-value.ts'
import { Attempt } from './attempt.ts'
import { type Clearing, clearing } from './clearing.ts'
import type { EagerLoop, HostRun, HostStep, HostUse } from './eager-loop.ts'
import { EarlyCall, type EarlyHost } from './early-call.ts'
import { EarlyCalls } from './early-calls.ts'
import { Hold } from './hold.ts'
import { type EarlyTool, type HostInput, toolFor } from './host-tool.ts'
import { charge, stepSavings } from './step-account.ts'

/** Identifies a call of the response. Provider ids cannot be used: they may be repeated or missing. */
export type CallLabel = number

/** An early call that the host has joined. */
export interface TakenCall {
  /** The function's result: a promise or an async iterable. */
  readonly result: Promise<unknown> | AsyncIterable<unknown>
  /** The signal that the function received. */
  readonly signal: AbortSignal
  /** The function declined: its result must not be used, and the host makes the call itself. */
  readonly isDeclined: boolean
  /** Resolves when the function declines. Stays pending if it never does. */
  readonly declined: Promise<void>
  /** The host cannot use the result, and makes the call itself. */
  giveUp(): void
}

/** An early call of the accepted response that the host has not executed. */
export interface UnaskedCall {
  /** The id the host would use for it. */
  readonly id: string | undefined
  readonly tool: string
}

/**
 * - `streaming`: a response is streaming.
 * - `failed`: it failed, and the host may request another one.
 * - `stood`: the response is accepted, and the host runs its calls.
 * - `over`: the host runs no more calls of this step.
 */
export type Stage = 'streaming' | 'failed' | 'stood' | 'over'

const UNKNOWN: NamedModel = { provider: 'unknown', id: 'unknown' }

export class HostCalls {
  readonly #loop: EagerLoop
  readonly #run: HostRun
  readonly #options: HostStep
  readonly #parent: EarlyHost['parent'] = activeContext()
  readonly #step: number
  readonly #began: number = performance.now()
  /** How many calls the host executes at once, and how many early calls may. */
  readonly #slots: number
  readonly #earlySlots: number
  readonly #early: EarlyCalls
  readonly #hold: Hold
  readonly #certain: Map<string, number> = new Map()
  #made: EarlyHost | undefined
  #stage: Stage = 'streaming'
  #attempt = 1
  /** Created with its first call, because most responses have none. */
  #response: Attempt | undefined
  #rules: readonly Tool[] | undefined
  #labels = 0
  #stood: number | undefined
  /** Tools that the host has asked for with other arguments. */
  readonly #changed: Set<string> = new Set()
  /** Stops what {@link HostCalls.#followHost} started. */
  #unfollow: (() => void) | undefined

  constructor(loop: EagerLoop, run: HostRun, options: HostStep) {
    this.#loop = loop
    this.#run = run
    this.#options = options
    this.#step = run.steps
    const { toolConcurrency, hold } = loop.settings
    this.#slots = options.toolConcurrency ?? Number.POSITIVE_INFINITY
    this.#earlySlots = toolConcurrency ?? options.earlySlots ?? this.#slots
    this.#early = new EarlyCalls(this.#earlySlots, (early) => {
      const isOpen = this.#stage === 'streaming' && !options.signal?.aborted && !loop.isBarred(early.tool.name)
      return isOpen && this.#mayStart(early)
    })
    this.#hold = new Hold(hold, () => void this.release())
  }

  get stage(): Stage {
    return this.#stage
  }

  /** The early calls of the accepted response that the host has not executed so far, whatever the input. */
  get unasked(): readonly UnaskedCall[] {
    if (this.#stood === undefined) return []
    return this.#early.begun
      .filter((early) => early.attempt === this.#attempt && !early.isAsked && !early.isDeclined)
      .map(({ hostId, tool }) => ({ id: hostId, tool: tool.name }))
  }

  /** Counts the responses that the host has requested in this step. */
  get attempt(): number {
    return this.#attempt
  }

  /** Whether an early call that the host has not taken may have changed something. */
  get mayHaveChanged(): boolean {
    return this.#early.begun.some((early) => early.isAboveRead && !early.isTaken && !early.isGone)
  }

  // The stream. None of these methods waits or throws.

  /** A call begins. Returns the label for its further pieces. */
  begin(id: string | undefined, name: string): CallLabel {
    const label = ++this.#labels
    if (!this.#hears()) return label
    this.#response ??= this.#newResponse()
    this.#response.begin(label, id, name)
    return label
  }

  /** A piece of the arguments. If it is not a string, the event is {@link unreadable}. */
  delta(label: CallLabel, text: unknown): void {
    if (typeof text !== 'string') this.unreadable(notText())
    else if (this.#hears()) this.#response?.delta(label, text)
  }

  /**
   * The provider states that the call will not change. `text`: the whole arguments, if the provider repeats them. If it
   * is not a string, the event is {@link unreadable}.
   */
  seal(label: CallLabel, text?: unknown): void {
    if (text !== undefined && typeof text !== 'string') this.unreadable(notText())
    else if (this.#hears()) this.#response?.seal(label, text)
  }

  /** The provider repeats the whole arguments but may still change them. They count when the response has ended. */
  restate(label: CallLabel, text: string): void {
    if (this.#hears()) this.#response?.restate(label, text)
  }

  /** An event cannot be read: nothing more starts early in this step, and the host makes all calls itself. */
  unreadable(error: unknown): void {
    void this.release('stream_error', error)
  }

  /** The response has ended, and by its own rules the host runs the calls now. No further call starts early. */
  stood(): void {
    if (this.#stage !== 'streaming') return
    this.#stage = 'stood'
    this.#hold.heard()
    this.#stood = performance.now()
    this.#response?.end()
    for (const early of this.#early.clear()) if (!this.#mayStart(early)) this.#options.keptBack?.(early.hostId)
    const asked = [...this.#asked]
    const isAsked = (early: EarlyCall) => {
      const place = asked.findIndex((call) => sameCall(early.call, call))
      if (place >= 0) asked.splice(place, 1)
      return place >= 0
    }
    const inOrder = this.#early.begun.toSorted((one, other) => other.attempt - one.attempt)
    for (const early of inOrder) {
      early.modelEnded(this.#stood)
      if (!isAsked(early) && early.attempt < this.#attempt)
        early.discard('call_withdrawn', new Error('the accepted response does not request this call'))
    }
  }

  /** The response has failed. Its calls are kept, because the host may retry until its signal aborts. */
  failed(): void {
    if (this.#stage !== 'streaming') return
    this.#stage = 'failed'
    this.#hold.heard()
    if (this.#options.signal?.aborted) void this.release()
    else this.#followHost()
  }

  /**
   * The host requests another response in the same step. Returns whether its calls may join those that have started.
   * With `false` this step is over, and its early calls are discarded.
   */
  again(): boolean {
    if (this.#stage === 'stood') void this.release()
    if (this.#stage === 'over') return false
    this.#stage = 'streaming'
    this.#early.clear()
    this.#response = undefined
    this.#attempt++
    return true
  }

  /** What `mayStart` of a tool returns may have changed. */
  proceed(): void {
    this.#early.go()
  }

  #mayStart(early: EarlyCall): boolean {
    const { hostId: id, tool } = early
    return this.#toolOf(tool.name)?.mayStart?.({ id, isWith: (input) => early.isWith(input) }) ?? true
  }

  // The host's requests.

  /**
   * The host executes a call. `input` is what the host's own check returned; for a tool that checks it itself, the input
   * as the model wrote it. Returns an early call with the same id and input; each is returned once. From then on
   * `signal` aborts it. `undefined`: the host must make the call itself, once it is {@link HostCalls.cleared}.
   */
  take(id: string | undefined, name: string, input: unknown, signal?: AbortSignal): TakenCall | undefined {
    const isMine = (early: EarlyCall) => this.#isRunOf(early, id, name)
    this.#asks(id, name)
    if (this.#stage !== 'stood') return undefined
    const open = this.#early.begun.filter((early) => early.isOpen && early.tool.name === name)
    const mine = open.filter(isMine)
    const found =
      mine.find((early) => early.isWith(input)) ??
      // A call of an earlier, failed attempt, which used other ids.
      open.find((early) => early.attempt < this.#attempt && early.isWith(input))
    if (found) {
      const result = found.take(signal)
      return {
        result,
        signal: found.signal,
        get isDeclined() {
          return found.isDeclined
        },
        get declined() {
          return found.declined
        },
        giveUp: () => found.giveUp(new Error('the host cannot use the result')),
      }
    }
    // Another call with this id may still match it.
    if ((this.#response?.countOf(id) ?? 0) <= 1) {
      if (mine.length > 0) this.#changed.add(name)
      for (const early of mine) {
        this.#compare(early, input)
        early.discard('arguments_changed', new Error('the arguments have changed'))
      }
    }
    return undefined
  }

  /**
   * The host makes a call itself. An early run of it that may have changed something must be over first: it is discarded,
   * and the host waits. `undefined`: there is nothing to wait for. `signal`: that of the host's execution.
   */
  cleared(id: string | undefined, name: string, input: unknown, signal?: AbortSignal): Clearing | undefined {
    this.#asks(id, name)
    const all = new Set([...this.#early.begun, ...this.#run.leaving])
    const runs = [...all].filter(
      (early) => early.tool.name === name && early.isAboveRead && this.#isUnusedRunOf(early, id, input),
    )
    for (const early of runs) early.discard('arguments_changed', new Error('the host makes this call itself'))
    return clearing(name, runs, this.#loop.settings.hold, signal)
  }

  #asks(id: string | undefined, name: string): void {
    for (const early of this.#early.begun) if (this.#isRunOf(early, id, name)) early.isAsked = true
  }

  /** Whether an early call is that of a call of the last response. */
  #isRunOf({ tool, attempt, hostId }: EarlyCall, id: string | undefined, name: string): boolean {
    return tool.name === name && attempt === this.#attempt && hostId === id
  }

  /** Whether an early call was made for a call that the host makes itself, and is not over. */
  #isUnusedRunOf(early: EarlyCall, id: string | undefined, input: unknown): boolean {
    if (early.isTaken || early.isGone) return false
    const heard = this.#response?.countOf(id) ?? 0
    // An equal call that is undone too late undoes what this one does. For a call that was not heard, as the step was
    // over by then, it is not known what the model had written.
    if (this.#run.leaving.has(early) && (heard === 0 || early.isWith(input))) return true
    if (early.attempt === this.#attempt && early.hostId === id && this.#early.begun.includes(early))
      // Another call with this id may still take an open one.
      return !early.isOpen || early.isWith(input) || heard <= 1
    const isRequested = (call: ToolCall) => this.#response?.hostIdOf(call.id) === id && sameCall(early.call, call)
    return early.isWith(input) || this.#asked.some(isRequested)
  }

  /** The host has another input than an early call. If the arguments are the same, the schema made the difference. */
  #compare({ call, input }: EarlyCall, hosts: unknown): void {
    if (this.#toolOf(call.name)?.checksItself) return
    if (!this.#asked.some((asked) => asked.id === call.id && sameCall(asked, call))) return
    this.#loop.differs(call.name, differingMembers(input, hosts))
  }

  /**
   * The host executes nothing more in this step: calls it has not used are discarded. Resolves when no call is running
   * any more. Never rejects.
   */
  async release(cause?: DiscardCause, reason?: unknown): Promise<void> {
    const stage = this.#stage
    if (stage !== 'over') this.#end(stage, cause ?? this.#causeOf(stage), reason)
    await Promise.all(this.#early.begun.map((early) => early.over()))
    this.#unfollow?.()
  }

  #causeOf(stage: Stage): DiscardCause {
    if (this.#options.signal?.aborted) return 'run_aborted'
    return stage === 'stood' ? 'call_withdrawn' : 'stream_error'
  }

  #end(stage: Stage, cause: DiscardCause, given: unknown): void {
    this.#stage = 'over'
    this.#early.clear()
    this.#hold.end()
    // Nothing follows from a step that was aborted, whose host has failed for another reason, or that may still go on
    // after an approval.
    const isAccepted = stage === 'stood' && cause === 'call_withdrawn' && !this.#hold.isOver
    const uses = isAccepted ? this.#uses() : new Map<string, HostUse>()
    const early = this.#early.begun
    if (early.length === 0) return
    const left = early.filter((early) => !early.isTaken)
    // Creating an Error is slow, so it is created only if needed.
    const reason = given ?? (left.length > 0 ? new Error('the host does not use this call') : undefined)
    for (const one of left) one.discard(cause, reason)
    const savings = () =>
      stepSavings({
        step: this.#step,
        slots: this.#slots,
        began: this.#began,
        stood: this.#stood,
        over: performance.now(),
        certain: this.#certain,
        early,
        asked: this.#asked,
      })
    if (this.#loop.budget) charge(this.#loop.budget, savings(), cause === 'run_aborted')
    this.#loop.ended(uses, savings)
  }

  /** What the host did with the early calls of the accepted response, by tool. */
  #uses(): ReadonlyMap<string, HostUse> {
    const uses = new Map<string, HostUse>()
    for (const early of this.#early.begun) {
      const { name } = early.tool
      if (early.isTaken) uses.set(name, 'used')
      else if (!uses.has(name) && early.attempt === this.#attempt && !early.isDeclined)
        uses.set(name, this.#changed.has(name) ? 'changed' : 'unused')
    }
    return uses
  }

  // How calls start.

  /** An event of the stream has arrived. Returns whether it counts. */
  #hears(): boolean {
    if (this.#stage !== 'streaming') return false
    this.#hold.heard()
    return true
  }

  /** The calls of the last response. */
  get #asked(): readonly ToolCall[] {
    return this.#response?.calls ?? []
  }

  #newResponse(): Attempt {
    const { breaker } = this.#run
    return new Attempt(
      new StreamedResponse({ maker: this.#maker(this.#attempt), independent: this.#loop.independent, breaker }),
    )
  }

  /** The call maker for one attempt. It starts nothing once another attempt has begun. */
  #maker(attempt: number): CallMaker {
    const { model = UNKNOWN, tools } = this.#options
    // The rules pass such a tool through unchanged.
    this.#rules ??= tools.map((tool) => toolFor(tool) as Tool)
    return {
      tools: this.#rules,
      model,
      toolConcurrency: this.#earlySlots,
      isLastStep: false,
      warm: () => undefined,
      certain: (callId, isCertain) => {
        if (isCertain) this.#certain.set(callId, performance.now())
        else this.#certain.delete(callId)
      },
      deferral: (call, start) => this.#deferral(call, start, model),
      isSpent: (tool) => this.#loop.budget?.isSpent(tool) ?? false,
      start: (call, start) => {
        if (this.#stage === 'streaming' && attempt === this.#attempt) this.#start(call, start)
      },
      waited: () => undefined,
      warn: (warning) => this.#loop.warn(warning),
    }
  }

  #deferral(
    call: ToolCall,
    { input, ...start }: Pick<EarlyStart, 'tool' | 'effect' | 'evidence' | 'input'>,
    model: NamedModel,
  ): ReturnType<CallMaker['deferral']> {
    const { effect, evidence } = start
    const { policy, schemas } = this.#loop.settings
    if (effect === 'external' || effect === 'calls' || evidence === 'prefix') return 'effect'
    if (this.#loop.isBarred(call.name)) return 'schema'
    const { written, value } = input as HostInput
    const asked = this.#toolOf(call.name)?.checksItself ? written : value
    for (const early of this.#run.leaving) if (early.tool.name === call.name && early.isWith(asked)) return 'effect'
    const reason = deferral(start, () => policy?.(call, { effect, evidence, model }), this.#loop)
    if (reason || !mustKeepInput(call.name, effect, schemas)) return reason
    return this.#keepsInput(call.name, input as HostInput) ? undefined : 'schema'
  }

  #keepsInput(name: string, { written, value }: HostInput): boolean {
    return this.#toolOf(name)?.keepsInput?.(written) ?? sameValue(written, value)
  }

  #toolOf(name: string): EarlyTool | undefined {
    return this.#options.tools.find((tool) => tool.name === name)?.early
  }

  #start(call: ToolCall, { input, effect, keys, evidence }: EarlyStart): void {
    const tool = this.#toolOf(call.name)
    const response = this.#response
    if (!tool || !response) return
    const same = this.#early.begun.filter((early) => early.call.id === call.id && early.attempt === this.#attempt)
    for (const early of same) early.discard('arguments_changed', new Error('the arguments have changed'))
    const held = this.#early.begun.find(
      (early) => early.isOpen && early.attempt < this.#attempt && sameCall(early.call, call),
    )
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
      this.#host,
    )
    this.#followHost()
    this.#early.add(early)
    if (this.#early.begun.length > 0) this.#hold.begin()
  }

  /**
   * Follows the host's signal with one listener for all calls of the step. An abort stops running calls and ends a step
   * whose response has failed.
   */
  #followHost(): void {
    const { signal } = this.#options
    if (!signal || this.#unfollow) return
    this.#unfollow = follow(signal, () => {
      for (const early of this.#early.begun) early.abort(signal.reason)
      if (this.#stage === 'failed') void this.release('stream_error')
    })
  }

  get #host(): EarlyHost {
    this.#made ??= {
      telemetry: new Telemetry(this.#loop.settings.telemetry),
      parent: this.#parent,
      signal: this.#options.signal,
      enter: (work) => (this.#options.enter ? this.#options.enter(work) : work()),
      freed: () => this.#early.go(),
      leaves: (early) => {
        for (const { leaving } of [this.#run, this.#loop]) leaving.add(early)
      },
      gone: (early) => {
        for (const { leaving } of [this.#run, this.#loop]) leaving.delete(early)
      },
      declined: (tool, member) => this.#loop.declined(tool, member),
      warn: (code, message) => this.#loop.warn({ code, message }),
    }
    return this.#made
  }
}

function notText(): TypeError {
  return new TypeError('a piece of the arguments is not a string')
}
