/** One call of another library's loop that started early: its state, its result and its span. */

import { type DiscardCause, messageOf, type ResourceKeys, type ToolCall } from '@meanwhile/core'
import {
  type CallFacts,
  type ExecutionFacts,
  executionSpan,
  follow,
  noteEffect,
  type Telemetry,
} from '@meanwhile/core/calls'
import type { EarlyStart } from '../call-maker.ts'
import { copyOf, sameValue } from '../same-value.ts'
import type { EarlyTool } from './host-tool.ts'
import { KeptResult } from './kept-result.ts'
import { unref } from './unref.ts'

/** How long to wait for an aborted function to settle, in milliseconds. */
const GRACE = 1_000

/** What an early call needs from its step. */
export interface EarlyHost {
  readonly telemetry: Telemetry
  /** The parent of the call's span. */
  readonly parent: Parameters<Telemetry['around']>[1]
  /** Aborts everything the host does. The owner of the calls follows this signal for all of them. */
  readonly signal: AbortSignal | undefined
  /** Runs `work` in the async context in which the host would call the function. */
  enter<Result>(work: () => Result): Result
  /** Called when the call has released its slot and its keys. */
  freed(): void
  /** Called when the call is discarded although it may have changed something. */
  leaves(early: EarlyCall): void
  /** Called when that call has settled and been undone. */
  gone(early: EarlyCall): void
  /** Called when the function has read something that exists only when the response has ended. */
  declined(tool: string, member: string): void
  warn(code: string, message: string): void
}

export interface EarlyBeginning extends Pick<EarlyStart, 'effect' | 'keys' | 'evidence'> {
  readonly call: ToolCall
  readonly tool: EarlyTool
  /** The input that the host would pass to the function, and the context next to it. */
  readonly value: unknown
  readonly context: unknown
  /** The id the host will use for this call, if the provider sent one. */
  readonly hostId: string | undefined
  readonly step: number
  /** The attempt (model request within the step) that requests the call. */
  readonly attempt: number
  readonly text: () => string
}

const ONLY = { n: 0 }

export class EarlyCall implements CallFacts {
  readonly tool: { readonly name: string }
  readonly attributes: CallFacts['attributes']
  readonly maker = undefined
  readonly requestedIn: CallFacts['requestedIn'] = []
  readonly stopped = undefined
  readonly executions: ExecutionFacts[] = []
  readonly keys: ResourceKeys
  readonly evidence: EarlyBeginning['evidence']
  /** The call as the latest attempt requested it. */
  call: ToolCall
  hostId: string | undefined
  attempt: number
  state: CallFacts['state']
  /** When the function was called, in `performance.now()`. */
  started: number | undefined
  /** When the function settled, in `performance.now()`. */
  ended: number | undefined
  error: unknown
  /** Whether the host has executed the call, with this input or with another. */
  isExecuted = false
  readonly #beginning: EarlyBeginning
  readonly #host: EarlyHost
  readonly #evidenceAt: number = performance.now()
  readonly #controller = new AbortController()
  /** What the function gets. A copy, because the function may change the original. */
  readonly input: unknown
  /** The input with which the host takes the call. */
  readonly #taken: unknown
  #result: KeptResult | undefined
  #tellUsed: (isUsed: boolean) => void = () => undefined
  /** Created when it is first read, because most functions never read it. */
  #used: Promise<boolean> | undefined
  #isDeclined = false
  #tellDeclined: () => void = () => undefined
  #declined: Promise<void> | undefined
  /** The failure that the function reported although it returned a value. */
  #failure: Error | undefined
  #isOver = false
  #isEnded = false
  #isUndoing = false
  #isGone = false
  #work: Promise<void> = Promise.resolve()
  #grace: ReturnType<typeof setTimeout> | undefined

  constructor(beginning: EarlyBeginning, host: EarlyHost) {
    const { call, tool, hostId, attempt, step, evidence, keys, effect, value } = beginning
    this.#beginning = beginning
    this.#host = host
    this.input = copyOf(value)
    this.#taken = tool.checksItself && value !== call.input ? copyOf(call.input) : this.input
    this.tool = { name: call.name }
    this.call = call
    this.hostId = hostId
    this.attempt = attempt
    this.keys = keys
    this.evidence = evidence
    this.attributes = { 'meanwhile.dispatch.evidence': evidence }
    this.state = {
      step,
      startedEarly: true,
      attempts: 1,
      fate: 'provisional',
      requestedAt: 0,
      executions: [{ invocation: ONLY, stage: 'judged', judgement: { effect, keys, mayBeEarly: true } }],
    }
  }

  get id(): string {
    return this.hostId ?? this.call.id
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get settled(): boolean {
    return this.ended !== undefined
  }

  get message(): CallFacts['message'] {
    return this.error === undefined ? undefined : { isError: true }
  }

  /** Whether the function is running. */
  get isRunning(): boolean {
    return this.started !== undefined && !this.#isOver
  }

  get isTaken(): boolean {
    return this.state.fate === 'committed'
  }

  /** Whether the function declined, so that its result must not be used. */
  get isDeclined(): boolean {
    return this.#isDeclined
  }

  /** Resolves when the function declines. Stays pending if it never does. */
  get declined(): Promise<void> {
    this.#declined ??= new Promise((resolve) => {
      if (this.#isDeclined) resolve()
      else this.#tellDeclined = resolve
    })
    return this.#declined
  }

  /** Whether a second execution may change more than one. */
  get isAboveRead(): boolean {
    return this.#beginning.effect !== 'read'
  }

  /** Whether the function has yielded its result. */
  get isStream(): boolean {
    return this.#result?.isStream ?? false
  }

  /** Whether it was discarded, has settled and been undone. */
  get isGone(): boolean {
    return this.#isGone
  }

  /** Whether the host may join this call if it executes an equal one. */
  get isOpen(): boolean {
    return this.started !== undefined && this.state.fate === 'provisional' && !this.#isDeclined
  }

  /** Whether the host takes the call with this input. */
  isWith(input: unknown): boolean {
    return sameValue(this.#taken, input)
  }

  /** Calls the function. An error is kept for the host. */
  begin(): void {
    const { telemetry, parent, enter } = this.#host
    const queued = (performance.now() - this.#evidenceAt) / 1000
    const work = enter(() =>
      telemetry.around(executionSpan, parent, {
        begin: () => ({ call: this, input: this.call.input, attempt: 1, early: true }),
        make: (open) => {
          const started = performance.now()
          const lag = (started - this.#evidenceAt) / 1000
          this.started = started
          this.#moved('entered')
          noteEffect(open, this.#beginning.effect)
          const execution: ExecutionFacts = {
            open,
            early: true,
            attempt: 1,
            invocation: ONLY,
            signal: this.signal,
            started,
            queued,
            lag,
          }
          this.executions.push(execution)
          this.#result = new KeptResult(this.#called())
          if (this.#isDeclined) this.#result.drop()
          return this.#result.done
        },
        done: (result) => result,
        failed: (error) => error,
        came: ({ returned, error }) => {
          this.#settled(error ?? this.#failure)
          return { settled: this.executions[0], ...(returned && { output: () => returned.result }) }
        },
      }),
    )
    const settled = () => {
      this.#free()
      return this.#end()
    }
    this.#work = work.then(settled, settled)
  }

  /** The host executes the call and gets this result. From now on, `signal` aborts the function. */
  take(signal?: AbortSignal): Promise<unknown> | AsyncIterable<unknown> {
    this.state = { ...this.state, fate: 'committed', requestedAt: performance.now() }
    this.isExecuted = true
    this.#tellUsed(true)
    const { signal: hosts } = this.#host
    if (hosts?.aborted) this.abort(hosts.reason)
    // The signal of the host's step is already followed for all calls.
    if (signal && signal !== hosts && !this.settled) {
      const abort = () => this.abort(signal.reason)
      const unfollow = follow(signal, abort)
      if (signal.aborted) abort()
      void this.#work.then(unfollow)
    }
    if (this.settled) void this.#end()
    return this.#result?.read() ?? Promise.reject(new Error('the call has not started'))
  }

  /** Aborts the function unless it has settled. */
  abort(reason: unknown): void {
    const { tool } = this.#beginning
    const mustSettle = tool.leavesOnAbort && this.isAboveRead && !this.isTaken
    if (!this.settled && !mustSettle) this.#controller.abort(reason)
  }

  /** The host will not use this call. */
  discard(cause: DiscardCause, reason: unknown): void {
    if (this.state.fate === 'provisional') this.#drop(cause, reason)
  }

  /** The host has taken this call, but cannot use its result. */
  giveUp(reason: unknown): void {
    if (this.isTaken) this.#drop('call_withdrawn', reason)
  }

  #drop(cause: DiscardCause, reason: unknown): void {
    this.state = { ...this.state, fate: 'discarded', cause }
    this.#tellUsed(false)
    this.abort(reason)
    this.#result?.drop()
    if (this.isAboveRead && this.started !== undefined) this.#host.leaves(this)
    if (this.started === undefined) this.#isOver = true
    else if (this.settled) this.#work = this.#work.then(() => this.#end())
    else this.#abandonLater()
  }

  /** Its response has ended; the host runs the calls now. */
  modelEnded(at: number): void {
    this.state = { ...this.state, modelEnded: at }
  }

  /** Resolves when the call is over, including its compensation if it needs one. Never rejects. */
  over(): Promise<void> {
    return this.#work
  }

  #called(): unknown {
    const { tool, call, value, context, hostId, text } = this.#beginning
    const whenUsed = () => this.#whenUsed()
    try {
      return tool.start(value, {
        id: hostId,
        signal: this.signal,
        written: call.input,
        context,
        get used() {
          return whenUsed()
        },
        get text() {
          return text()
        },
        decline: (member) => this.#decline(member),
        failed: (error) => {
          this.#failure = error
        },
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #decline(member: string): void {
    // The host already has the result.
    if (this.#isDeclined || (this.settled && this.isTaken)) return
    this.#isDeclined = true
    this.#tellDeclined()
    this.#host.declined(this.call.name, member)
    if (this.state.fate !== 'discarded') this.#drop('call_withdrawn', new Error(`it has read ${member}`))
  }

  #whenUsed(): Promise<boolean> {
    const { fate } = this.state
    this.#used ??= new Promise((resolve) => {
      if (fate === 'provisional') this.#tellUsed = resolve
      else resolve(this.isTaken)
    })
    return this.#used
  }

  #settled(error: unknown): void {
    this.ended = performance.now()
    this.error = error
    this.#moved('ended')
    const [execution] = this.executions
    if (!execution) return
    execution.ended = this.ended
    execution.answersAbort = this.signal.aborted && error !== undefined
    if (error !== undefined) execution.error = error
  }

  #moved(stage: 'entered' | 'ended' | 'abandoned'): void {
    this.state = { ...this.state, executions: this.state.executions.map((one) => ({ ...one, stage })) }
  }

  /** If the function ignores its signal, the slot is released and the span ended after the grace time. */
  #abandonLater(): void {
    this.#grace = setTimeout(() => {
      this.#moved('abandoned')
      this.#host.telemetry.ended(this)
      this.#free()
    }, GRACE)
    unref(this.#grace)
  }

  #free(): void {
    clearTimeout(this.#grace)
    if (this.#isOver) return
    this.#isOver = true
    this.#host.freed()
  }

  /** Once the function has settled and the call is taken or discarded: ends the span, and undoes a discarded call. */
  #end(): Promise<void> | undefined {
    const { fate } = this.state
    if (fate === 'provisional') return undefined
    const isTold = this.#isEnded
    this.#isEnded = true
    if (fate === 'discarded') return this.#gone(isTold)
    if (!isTold) this.#host.telemetry.ended(this)
    return undefined
  }

  async #gone(isTold: boolean): Promise<void> {
    if (this.#isUndoing) return
    this.#isUndoing = true
    const done = await this.#undone()
    this.#isGone = true
    this.#host.gone(this)
    if (!isTold) this.#host.telemetry.ended(this, done)
  }

  /** Returns whether the call was undone; `undefined` if nothing had to be undone. */
  async #undone(): Promise<boolean | undefined> {
    const { tool, effect, call } = this.#beginning
    if (effect !== 'reversible' || this.error !== undefined || !tool.compensate) return undefined
    try {
      await this.#host.enter(async () => tool.compensate?.(this.input, await this.#result?.done))
      return true
    } catch (error) {
      this.#host.warn('compensation-failed', `${call.name} could not be undone: ${messageOf(error)}`)
      return false
    }
  }
}
