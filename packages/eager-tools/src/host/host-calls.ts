/**
 * The calls of one step of a loop that is not ours. They start while the response streams, are joined when the host asks for
 * them, and are discarded if it does not. Late calls are always the host's own.
 */

import type { DiscardCause, Tool, ToolCall } from '@meanwhile/core'
import { activeContext, follow, keysMeet, sameCall, Telemetry } from '@meanwhile/core/calls'
import type { CallMaker, EarlyStart, NamedModel } from '../call-maker.ts'
import { deferral } from '../policy.ts'
import { StreamedResponse } from '../response.ts'
import { Attempt } from './attempt.ts'
import type { EagerLoop, HostRun, HostStep } from './eager-loop.ts'
import { EarlyCall, type EarlyHost, unref } from './early-call.ts'
import { type HostInput, toolFor } from './host-tool.ts'
import { stepSavings } from './step-account.ts'

/** Stands for a call of the response: ids come twice, or not at all. */
export type CallLabel = number

/** An early call that the host has joined. */
export interface TakenCall {
  /** What its function gave: a promise, or an async iterable. */
  readonly result: Promise<unknown> | AsyncIterable<unknown>
  /** It has declined after all: what comes of it must not be used, and the host is to make the call itself. */
  readonly isDeclined: boolean
}

/**
 * `streaming`: a response comes. `failed`: it has failed, and the host may ask for another one. `stood`: the host runs the calls
 * of this response. `over`: it will ask for nothing more.
 */
export type Stage = 'streaming' | 'failed' | 'stood' | 'over'

const UNKNOWN: NamedModel = { provider: 'unknown', id: 'unknown' }
const HOLD = 30_000
/** Beyond so many milliseconds a timer fires at once. */
const LONGEST = 2 ** 31 - 1

export class HostCalls {
  readonly #loop: EagerLoop
  readonly #run: HostRun
  readonly #options: HostStep
  readonly #parent: EarlyHost['parent'] = activeContext()
  readonly #step: number
  readonly #began: number = performance.now()
  readonly #early: EarlyCall[] = []
  readonly #waiting: EarlyCall[] = []
  readonly #certain: Map<string, number> = new Map()
  #made: EarlyHost | undefined
  #stage: Stage = 'streaming'
  #attempt = 1
  /** Made with its first call: most responses have none. */
  #response: Attempt | undefined
  #rules: readonly Tool[] | undefined
  #labels = 0
  #heard = performance.now()
  #stood: number | undefined
  #hold: ReturnType<typeof setTimeout> | undefined
  #unfollow: () => void = () => undefined

  constructor(loop: EagerLoop, run: HostRun, options: HostStep) {
    this.#loop = loop
    this.#run = run
    this.#options = options
    this.#step = run.steps
  }

  get stage(): Stage {
    return this.#stage
  }

  // What streams. None of these waits or throws.

  /** A call begins. Returns the label by which its pieces are told. */
  begin(id: string | undefined, name: string): CallLabel {
    const label = ++this.#labels
    if (!this.#hears()) return label
    this.#response ??= this.#newResponse()
    this.#response.begin(label, id, name)
    return label
  }

  /** A piece of the arguments. */
  delta(label: CallLabel, text: string): void {
    if (this.#hears()) this.#response?.delta(label, text)
  }

  /** The provider states that not one byte of this call will change. `text`: the whole arguments, if it repeats them. */
  seal(label: CallLabel, text?: string): void {
    if (this.#hears()) this.#response?.seal(label, text)
  }

  /** The provider repeats the whole arguments, and may yet change them: they count when the response has ended. */
  restate(label: CallLabel, text: string): void {
    if (this.#hears()) this.#response?.restate(label, text)
  }

  /** The response has ended so that the host, by its own rule, runs its calls now. Nothing starts any more. */
  stood(): void {
    if (this.#stage !== 'streaming') return
    this.#stage = 'stood'
    this.#heard = this.#stood = performance.now()
    this.#response?.end()
    this.#waiting.length = 0
    const asked = [...this.#asked]
    const isAsked = (early: EarlyCall) => {
      const place = asked.findIndex((call) => sameCall(early.call, call))
      if (place >= 0) asked.splice(place, 1)
      return place >= 0
    }
    const inOrder = this.#early.toSorted((one, other) => other.attempt - one.attempt)
    for (const early of inOrder) {
      early.modelEnded(this.#stood)
      if (!isAsked(early) && early.attempt < this.#attempt)
        early.discard('call_withdrawn', new Error('the response that stands does not ask for this call'))
    }
  }

  /** The response has failed. Its calls are held: whether the host asks for another one is not known, unless it aborts all that it does. */
  failed(): void {
    if (this.#stage !== 'streaming') return
    this.#stage = 'failed'
    this.#heard = performance.now()
    const { signal } = this.#options
    if (signal?.aborted) void this.release()
    else if (signal) this.#unfollow = follow(signal, () => void this.release('stream_error'))
  }

  /**
   * The host asks for another response in the same step. Returns whether its calls may join those that have started; `false`: this
   * step is over, and its early calls are discarded.
   */
  again(): boolean {
    if (this.#stage === 'stood') void this.release()
    if (this.#stage === 'over') return false
    this.#unfollow()
    this.#stage = 'streaming'
    this.#waiting.length = 0
    this.#response = undefined
    this.#attempt++
    return true
  }

  // What the host asks.

  /**
   * The host executes a call: with this id and with this input, as its own check gave it back. Returns the early call that has begun
   * with the same, each once. From then on `signal` aborts it. `undefined`: the host is to make the call itself.
   */
  take(id: string | undefined, name: string, input: unknown, signal?: AbortSignal): TakenCall | undefined {
    if (this.#stage !== 'stood') return undefined
    const open = this.#early.filter((early) => early.isOpen && early.tool.name === name)
    const mine = open.filter((early) => early.attempt === this.#attempt && early.hostId === id)
    const found =
      mine.find((early) => early.isWith(input)) ??
      // Of an attempt that failed, whose ids were others.
      open.find((early) => early.attempt < this.#attempt && early.isWith(input))
    if (found) {
      const result = found.take(signal)
      return {
        result,
        get isDeclined() {
          return found.isDeclined
        },
      }
    }
    // Another call of this id may yet ask for it.
    if ((this.#response?.countOf(id) ?? 0) <= 1) {
      for (const early of mine) early.discard('arguments_changed', new Error('the arguments have changed'))
    }
    return undefined
  }

  /**
   * The host will ask for nothing more in this step: what it has not asked for is discarded. Resolves when nothing is at work any more,
   * and never rejects.
   */
  async release(cause?: DiscardCause, reason?: unknown): Promise<void> {
    const stage = this.#stage
    if (stage !== 'over') this.#end(stage, cause ?? this.#causeOf(stage), reason)
    await Promise.all(this.#early.map((early) => early.over()))
  }

  #causeOf(stage: Stage): DiscardCause {
    if (this.#options.signal?.aborted) return 'run_aborted'
    return stage === 'stood' ? 'call_withdrawn' : 'stream_error'
  }

  #end(stage: Stage, cause: DiscardCause, given: unknown): void {
    this.#stage = 'over'
    this.#waiting.length = 0
    this.#unfollow()
    clearTimeout(this.#hold)
    const isAsked = stage === 'stood' && !this.#options.signal?.aborted ? this.#isAsked : undefined
    if (this.#early.length === 0) return
    const left = this.#early.filter((early) => !early.isTaken)
    // An error takes its time to be made.
    const reason = given ?? (left.length > 0 ? new Error('nobody asks for this call') : undefined)
    for (const early of left) early.discard(cause, reason)
    const savings = () =>
      stepSavings({
        step: this.#step,
        slots: this.#slots,
        began: this.#began,
        stood: this.#stood,
        over: performance.now(),
        certain: this.#certain,
        early: this.#early,
        asked: this.#asked,
      })
    this.#charge(savings, cause)
    this.#loop.ended(isAsked, savings)
  }

  /** Whether the host has asked for any of the calls that had started for this response; `undefined`: there are none. */
  get #isAsked(): boolean | undefined {
    if (this.#early.some((early) => early.isTaken)) return true
    return this.#early.some((early) => early.attempt === this.#attempt) ? false : undefined
  }

  // How calls start.

  get #slots(): number {
    return this.#loop.settings.toolConcurrency ?? this.#options.toolConcurrency ?? Number.POSITIVE_INFINITY
  }

  /** Something of the stream has come. Returns whether it counts. */
  #hears(): boolean {
    if (this.#stage !== 'streaming') return false
    this.#heard = performance.now()
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

  /** Of one attempt: what is said of it later starts nothing. */
  #maker(attempt: number): CallMaker {
    const { model = UNKNOWN, tools } = this.#options
    // The rules give back what such a tool gave them.
    this.#rules ??= tools.map((tool) => toolFor(tool) as Tool)
    return {
      tools: this.#rules,
      model,
      toolConcurrency: this.#slots,
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
    start: Pick<EarlyStart, 'tool' | 'effect' | 'evidence'>,
    model: NamedModel,
  ): ReturnType<CallMaker['deferral']> {
    const { effect, evidence } = start
    if (effect === 'external' || effect === 'calls' || evidence === 'prefix') return 'effect'
    return deferral(start, () => this.#loop.settings.policy?.(call, { effect, evidence, model }), this.#loop)
  }

  #start(call: ToolCall, { input, effect, keys, evidence }: EarlyStart): void {
    const tool = this.#options.tools.find(({ name }) => name === call.name)?.early
    const response = this.#response
    if (!tool || !response) return
    const same = this.#early.filter((early) => early.call.id === call.id && early.attempt === this.#attempt)
    for (const early of same) early.discard('arguments_changed', new Error('the arguments have changed'))
    const held = this.#early.find(
      (early) => early.isOpen && early.attempt < this.#attempt && sameCall(early.call, call),
    )
    if (held) {
      held.call = call
      held.hostId = response.hostIdOf(call.id)
      held.attempt = this.#attempt
      return
    }
    const { value } = input as HostInput
    const early = new EarlyCall(
      {
        call,
        tool,
        value,
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
    this.#waiting.push(early)
    this.#go()
  }

  /** What a slot and the keys allow begins, in call order; nothing once the host has aborted. */
  #go(): void {
    if (this.#stage !== 'streaming') return
    const isAborted = () => this.#options.signal?.aborted ?? false
    const running = this.#early.filter((early) => early.isRunning)
    const before = [...running]
    for (const early of this.#waiting.splice(0)) {
      const waits =
        running.length >= this.#slots || before.some(({ keys }) => keysMeet(keys, early.keys)) || isAborted()
      before.push(early)
      if (waits) {
        this.#waiting.push(early)
        continue
      }
      running.push(early)
      this.#early.push(early)
      this.#holdOn()
      early.begin()
    }
  }

  get #host(): EarlyHost {
    this.#made ??= {
      telemetry: new Telemetry(this.#loop.settings.telemetry),
      parent: this.#parent,
      signal: this.#options.signal,
      enter: (work) => (this.#options.enter ? this.#options.enter(work) : work()),
      freed: () => this.#go(),
      warn: (code, message) => this.#loop.warn({ code, message }),
    }
    return this.#made
  }

  /** A host that leaves without a word is waited for no longer than this. One timer, however much is heard. */
  #holdOn(): void {
    const { hold = HOLD } = this.#loop.settings
    if (this.#hold !== undefined || hold > LONGEST) return
    const wait = (ms: number) => {
      this.#hold = setTimeout(() => {
        const left = this.#heard + hold - performance.now()
        if (left > 0) wait(left)
        else void this.release()
      }, ms)
      unref(this.#hold)
    }
    wait(hold)
  }

  #charge(savings: () => ReturnType<typeof stepSavings>, cause: DiscardCause): void {
    const { budget } = this.#loop
    if (!budget) return
    const { calls, savedMs, stoodMs } = savings()
    const hidden = (at: { readonly startedMs?: number; readonly durationMs: number }) =>
      at.startedMs === undefined ? 0 : Math.max(0, Math.min(at.startedMs + at.durationMs, stoodMs) - at.startedMs)
    const joined = calls.filter(({ evidence, outcome }) => evidence && outcome !== 'discarded')
    const total = joined.reduce((sum, call) => sum + hidden(call), 0)
    for (const call of joined) if (total > 0) budget.add(call.tool, (savedMs * hidden(call)) / total)
    if (cause === 'run_aborted') return
    for (const call of calls) if (call.outcome === 'discarded') budget.add(call.tool, -call.durationMs)
  }
}
