/**
 * The calls of one step of another library's loop (the host). They start while the response streams. The host joins
 * them when it executes them; calls it does not execute are discarded. Calls that did not start early are made by the
 * host.
 */

import type { DiscardCause } from '@meanwhile/core'
import { activeContext, follow, sameCall, Telemetry } from '@meanwhile/core/calls'
import type { Clearing } from './clearing.ts'
import type { EagerLoop, HostRun, HostUse } from './eager-loop.ts'
import type { EarlyCall, EarlyHost } from './early-call.ts'
import { EarlyStarts, type HostStep } from './early-starts.ts'
import type { CallLabel } from './heard-response.ts'
import { Hold } from './hold.ts'
import { HostRequests, type TakenCall, type UnexecutedCall } from './host-requests.ts'
import { charge, stepSavings } from './step-account.ts'

/** The calls of the next step. `undefined` if none of them can start early, or has to wait for one that did. */
export function nextStep(loop: EagerLoop, run: HostRun, step: HostStep): HostCalls | undefined {
  run.steps++
  const mayStart = step.tools.some(({ name, early }) => early && !loop.isBarred(name))
  return mayStart || run.leaving.size > 0 ? new HostCalls(loop, run, step) : undefined
}

/**
 * - `streaming`: a response is streaming.
 * - `failed`: it failed, and the host may request another one.
 * - `stood`: the response is accepted, and the host runs its calls.
 * - `over`: the host runs no more calls of this step.
 */
export type Stage = 'streaming' | 'failed' | 'stood' | 'over'

export class HostCalls {
  readonly #loop: EagerLoop
  readonly #run: HostRun
  readonly #options: HostStep
  readonly #parent: EarlyHost['parent'] = activeContext()
  readonly #step: number
  readonly #began: number = performance.now()
  /** How many calls the host executes at once. */
  readonly #slots: number
  readonly #starts: EarlyStarts
  readonly #requests: HostRequests
  readonly #hold: Hold
  #made: EarlyHost | undefined
  #stage: Stage = 'streaming'
  #labels = 0
  #stood: number | undefined
  /** Stops what {@link HostCalls.#followHost} started. */
  #unfollow: (() => void) | undefined

  constructor(loop: EagerLoop, run: HostRun, options: HostStep) {
    this.#loop = loop
    this.#run = run
    this.#options = options
    this.#step = run.steps
    const { toolConcurrency, hold } = loop.settings
    this.#slots = options.toolConcurrency ?? Number.POSITIVE_INFINITY
    this.#starts = new EarlyStarts({
      loop,
      run,
      step: options,
      slots: toolConcurrency ?? options.earlySlots ?? this.#slots,
      isOpen: () => this.#stage === 'streaming' && !options.signal?.aborted,
      host: () => {
        this.#followHost()
        return this.#host
      },
      started: () => this.#hold.begin(),
    })
    this.#requests = new HostRequests(loop, run, this.#starts)
    this.#hold = new Hold(hold, options.silence, () => void this.release())
  }

  get stage(): Stage {
    return this.#stage
  }

  /** Counts the responses that the host has requested in this step. */
  get attempt(): number {
    return this.#starts.attempt
  }

  /** The early calls of the accepted response that the host has not executed so far, whatever the input. */
  get unexecuted(): readonly UnexecutedCall[] {
    return this.#stood === undefined ? [] : this.#requests.unexecuted
  }

  /** Whether an early call that the host has not taken may have changed something. */
  get mayHaveChanged(): boolean {
    return this.#starts.begun.some((early) => early.isAboveRead && !early.isTaken && !early.isGone)
  }

  // The stream. None of these methods waits or throws.

  /** A call begins. Returns the label for its further pieces. */
  begin(id: string | undefined, name: string): CallLabel {
    const label = ++this.#labels
    if (!this.#hears()) return label
    this.#starts.hear().begin(label, id, name)
    return label
  }

  /** A piece of the arguments. If it is not a string, the event is {@link unreadable}. */
  delta(label: CallLabel, text: unknown): void {
    if (typeof text !== 'string') this.unreadable(notText())
    else if (this.#hears()) this.#starts.response?.delta(label, text)
  }

  /**
   * The provider states that the call will not change. `text`: the whole arguments, if the provider repeats them. If it
   * is not a string, the event is {@link unreadable}.
   */
  seal(label: CallLabel, text?: unknown): void {
    if (text !== undefined && typeof text !== 'string') this.unreadable(notText())
    else if (this.#hears()) this.#starts.response?.seal(label, text)
  }

  /** The provider repeats the whole arguments but may still change them. They count when the response has ended. */
  restate(label: CallLabel, text: string): void {
    if (this.#hears()) this.#starts.response?.restate(label, text)
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
    this.#starts.response?.end()
    for (const id of this.#starts.end()) this.#options.keptBack?.(id)
    const requested = [...this.#starts.requested]
    const isRequested = (early: EarlyCall) => {
      const place = requested.findIndex((call) => sameCall(early.call, call))
      if (place >= 0) requested.splice(place, 1)
      return place >= 0
    }
    const newestFirst = this.#starts.begun.toSorted((one, other) => other.attempt - one.attempt)
    for (const early of newestFirst) {
      early.modelEnded(this.#stood)
      if (!isRequested(early) && early.attempt < this.attempt)
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
    this.#starts.next()
    return true
  }

  /** What `mayStart` of a tool returns may have changed. */
  proceed(): void {
    this.#starts.go()
  }

  /** An event of the stream has arrived. Returns whether it counts. */
  #hears(): boolean {
    if (this.#stage !== 'streaming') return false
    this.#hold.heard()
    return true
  }

  // The calls that the host executes.

  /**
   * The host executes a call. `input` is what the host's own check returned; for a tool that checks it itself, the input
   * as the model wrote it. Returns an early call with the same id and input; each is returned once. From then on
   * `signal` aborts it. `undefined`: the host must make the call itself, once it is {@link HostCalls.cleared}.
   */
  take(id: string | undefined, name: string, input: unknown, signal?: AbortSignal): TakenCall | undefined {
    this.#requests.executes(id, name)
    return this.#stage === 'stood' ? this.#requests.take(id, name, input, signal) : undefined
  }

  /**
   * The host makes a call itself. An early run of it that may have changed something must be over first: it is discarded,
   * and the host waits. `undefined`: there is nothing to wait for. `signal`: that of the host's execution.
   */
  cleared(id: string | undefined, name: string, input: unknown, signal?: AbortSignal): Clearing | undefined {
    this.#requests.executes(id, name)
    return this.#requests.cleared(id, name, input, signal)
  }

  /**
   * The host executes nothing more in this step: calls it has not used are discarded. Resolves when no call is running
   * any more. Never rejects.
   */
  async release(cause?: DiscardCause, reason?: unknown): Promise<void> {
    const stage = this.#stage
    if (stage !== 'over') this.#end(stage, cause ?? this.#causeOf(stage), reason)
    await Promise.all(this.#starts.begun.map((early) => early.over()))
    this.#unfollow?.()
  }

  #causeOf(stage: Stage): DiscardCause {
    if (this.#options.signal?.aborted) return 'run_aborted'
    return stage === 'stood' ? 'call_withdrawn' : 'stream_error'
  }

  #end(stage: Stage, cause: DiscardCause, given: unknown): void {
    this.#stage = 'over'
    this.#starts.clear()
    this.#hold.end()
    // Nothing follows from a step that was aborted, whose host has failed for another reason, or that may still go on
    // after an approval.
    const isAccepted = stage === 'stood' && cause === 'call_withdrawn' && !this.#hold.isOver
    const uses = isAccepted ? this.#requests.uses : new Map<string, HostUse>()
    const early = this.#starts.begun
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
        certain: this.#starts.certain,
        early,
        requested: this.#starts.requested,
      })
    if (this.#loop.budget) charge(this.#loop.budget, savings(), cause === 'run_aborted')
    this.#loop.ended(uses, savings)
  }

  /**
   * Follows the host's signal with one listener for all calls of the step. An abort stops running calls and ends a step
   * whose response has failed.
   */
  #followHost(): void {
    const { signal } = this.#options
    if (!signal || this.#unfollow) return
    this.#unfollow = follow(signal, () => {
      for (const early of this.#starts.begun) early.abort(signal.reason)
      if (this.#stage === 'failed') void this.release('stream_error')
    })
  }

  get #host(): EarlyHost {
    this.#made ??= {
      telemetry: new Telemetry(this.#loop.settings.telemetry),
      parent: this.#parent,
      signal: this.#options.signal,
      enter: (work) => (this.#options.enter ? this.#options.enter(work) : work()),
      freed: () => this.#starts.go(),
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
