/** A call that has started before the host asks for it: at work, joined or discarded, and its span. */

import { type DiscardCause, messageOf, type ResourceKeys, type ToolCall } from '@meanwhile/core'
import { type CallFacts, type ExecutionFacts, follow, type Telemetry } from '@meanwhile/core/calls'
import type { EarlyStart } from '../call-maker.ts'
import type { EarlyTool } from './host-tool.ts'
import { KeptResult } from './kept-result.ts'
import { copyOf, sameValue } from './same-value.ts'
import { unref } from './unref.ts'

/** Milliseconds that a function which was aborted is waited for. */
const GRACE = 1_000

/** What an early call needs of the step that it belongs to. */
export interface EarlyHost {
  readonly telemetry: Telemetry
  /** What its span nests under. */
  readonly parent: Parameters<Telemetry['around']>[1]
  /** Aborts all that the host does. Whoever makes the calls follows it for them. */
  readonly signal: AbortSignal | undefined
  /** Enters the surroundings in which the host would call the function. */
  enter<Result>(work: () => Result): Result
  /** It has given its slot and its keys back. */
  freed(): void
  warn(code: string, message: string): void
}

export interface EarlyBeginning extends Pick<EarlyStart, 'effect' | 'keys' | 'evidence'> {
  readonly call: ToolCall
  readonly tool: EarlyTool
  /** As the host would pass it on. */
  readonly value: unknown
  /** The id with which the host will ask for it, if the provider gave one. */
  readonly hostId: string | undefined
  readonly step: number
  /** The attempt at the response that asks for it. */
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
  /** Of the latest attempt that asks for it. */
  call: ToolCall
  hostId: string | undefined
  attempt: number
  state: CallFacts['state']
  /** When the function was called, in `performance.now()`. */
  started: number | undefined
  /** When it had settled, in `performance.now()`. */
  ended: number | undefined
  error: unknown
  readonly #beginning: EarlyBeginning
  readonly #host: EarlyHost
  readonly #evidenceAt: number = performance.now()
  readonly #controller = new AbortController()
  /** A copy, as the function may change its own. */
  readonly #input: unknown
  #result: KeptResult | undefined
  #tellTaken: () => void = () => undefined
  readonly #taken = new Promise<void>((resolve) => {
    this.#tellTaken = resolve
  })
  #isDeclined = false
  /** What the function says that it has failed with, though it returns. */
  #failure: Error | undefined
  #isOver = false
  #isEnded = false
  #work: Promise<void> = Promise.resolve()
  #grace: ReturnType<typeof setTimeout> | undefined

  constructor(beginning: EarlyBeginning, host: EarlyHost) {
    const { call, hostId, attempt, step, evidence, keys, effect, value } = beginning
    this.#beginning = beginning
    this.#host = host
    this.#input = copyOf(value)
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

  /** Its function is at work. */
  get isRunning(): boolean {
    return this.started !== undefined && !this.#isOver
  }

  get isTaken(): boolean {
    return this.state.fate === 'committed'
  }

  /** Its result must not be used. */
  get isDeclined(): boolean {
    return this.#isDeclined
  }

  /** Whether the host may get its result, if it asks for the same. */
  get isOpen(): boolean {
    return this.started !== undefined && this.state.fate === 'provisional' && !this.#isDeclined
  }

  /** Whether the host would call the function with the same. */
  isWith(input: unknown): boolean {
    return sameValue(this.#input, input)
  }

  /** Calls the function. What it throws is kept for the host. */
  begin(): void {
    const { telemetry, parent, enter } = this.#host
    const queued = (performance.now() - this.#evidenceAt) / 1000
    const work = enter(() =>
      telemetry.around<'execution', unknown>('execution', parent, {
        begin: () => ({ call: this, input: this.call.input, attempt: 1, early: true }),
        make: (open) => {
          const started = performance.now()
          const lag = (started - this.#evidenceAt) / 1000
          this.started = started
          this.#moved('entered')
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
          return this.#result.done
        },
        done: (result) => result,
        failed: (error) => error,
        came: ({ returned, error }) => {
          this.#settled(error ?? this.#failure)
          return returned ? { output: () => returned.result } : {}
        },
      }),
    )
    this.#work = work
      .then(
        () => undefined,
        () => undefined,
      )
      .then(() => {
        this.#free()
        return this.#end()
      })
  }

  /** The host asks for it. Returns what the host gets. From now on its signal ends the function. */
  take(signal?: AbortSignal): Promise<unknown> | AsyncIterable<unknown> {
    this.state = { ...this.state, fate: 'committed' }
    this.#tellTaken()
    // The host's own signal is followed for the whole step.
    if (signal && signal !== this.#host.signal && !this.settled) {
      const abort = () => this.abort(signal.reason)
      const unfollow = follow(signal, abort)
      if (signal.aborted) abort()
      void this.#work.then(unfollow)
    }
    if (this.settled) void this.#end()
    return this.#result?.read() ?? Promise.reject(new Error('the call has not begun'))
  }

  /** Aborts the function, unless it has settled. */
  abort(reason: unknown): void {
    if (!this.settled) this.#controller.abort(reason)
  }

  /** Nobody will ask for it. */
  discard(cause: DiscardCause, reason: unknown): void {
    if (this.state.fate !== 'provisional') return
    this.state = { ...this.state, fate: 'discarded', cause }
    this.abort(reason)
    this.#result?.drop()
    if (this.started === undefined) this.#isOver = true
    else if (this.settled) this.#work = this.#work.then(() => this.#end())
    else this.#abandonLater()
  }

  /** The stream of its response has ended, and its calls may run. */
  modelEnded(at: number): void {
    this.state = { ...this.state, modelEnded: at }
  }

  /** Resolves when it is over, undone if that was due. Never rejects. */
  async over(): Promise<void> {
    await this.#work
  }

  #called(): unknown {
    const { tool, call, value, hostId, text } = this.#beginning
    try {
      return tool.start(value, {
        id: hostId,
        signal: this.signal,
        written: call.input,
        taken: this.#taken,
        get text() {
          return text()
        },
        decline: () => {
          this.#isDeclined = true
        },
        failed: (error) => {
          this.#failure = error
        },
      })
    } catch (error) {
      return Promise.reject(error)
    }
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

  /** A function that ignores its signal gives its slot back when the grace time is over, and its span ends. */
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

  /** Its span ends when the function has settled and it is known whether anybody asks for the call. */
  async #end(): Promise<void> {
    if (this.state.fate === 'provisional' || this.#isEnded) return
    this.#isEnded = true
    const compensated = this.state.fate === 'discarded' ? await this.#undone() : undefined
    this.#host.telemetry.ended(this, compensated)
  }

  /** Returns whether it was undone; `undefined` if there was nothing to undo. */
  async #undone(): Promise<boolean | undefined> {
    const { tool, effect, call } = this.#beginning
    if (effect !== 'reversible' || this.error !== undefined || !tool.compensate) return undefined
    try {
      await this.#host.enter(async () => tool.compensate?.(this.#input, await this.#result?.done))
      return true
    } catch (error) {
      this.#host.warn('compensation-failed', `${call.name} could not be undone: ${messageOf(error)}`)
      return false
    }
  }
}
