/** Stops a run: tells all that are concerned, and has the errors that a stop throws. `machine/halt.ts` decides what is due. */

import { LazyController } from '../flow/follow.ts'
import { timer } from '../flow/grace.ts'
import { decideHalt, type Halt, type HaltFact, isAwaited, isLost, mayStart, reaches, runsOn } from '../machine/halt.ts'
import type { CancelMode, CancelOptions } from '../vocabulary/cancel.ts'
import { type AgentError, RunAbortedError, RunCancelled, type RunStop } from '../vocabulary/errors.ts'

/** A run, as far as its halt acts on it. */
interface Halting {
  readonly config: { readonly grace: number }
  readonly background: { wake(): void; abort(reason: unknown): void }
  readonly innerRuns: { cancel(mode: CancelMode): void }
  stopCalls(reason: unknown): void
  takeLast(): unknown
}

export class RunHalt {
  state: Halt = { phase: 'loading' }
  /** Why the run comes to nothing, if it does. */
  failure: AgentError | undefined
  readonly #run: Halting
  readonly #halted = new LazyController()
  readonly #paused = new LazyController()
  readonly #stopped = new AbortController()
  readonly #timers: ReturnType<typeof timer>[] = []
  /** Of the latest model request. */
  #request: AbortController | undefined
  #cancelled: RunCancelled | undefined
  #giveUp: ((reason: AgentError) => void) | undefined

  constructor(run: Halting) {
    this.#run = run
  }

  /** Aborts when calls that have not started wait for a resume. */
  get halted(): AbortSignal {
    return this.#halted.signal
  }

  /** Aborts when the run goes no further: what is provisional by then is decided after a resume. */
  get paused(): AbortSignal {
    return this.#paused.signal
  }

  /** Aborts when what is at work is to stop. */
  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  /** What comes up through wraps and calls when the run is cancelled. Made when it is needed: an error notes its stack. */
  get error(): RunCancelled {
    return (this.#cancelled ??= new RunCancelled())
  }

  /** Why what is at work is told to stop. */
  get reason(): AgentError {
    return this.failure ?? this.error
  }

  /** Something has happened. `stop`: what those throw that wait for a resume, unless it is a cancel's. */
  post(fact: HaltFact, stop?: RunStop): void {
    const before = this.state
    this.state = decideHalt(before, fact)
    if (this.state !== before) this.#act(stop)
  }

  cancel({ at = 'now', escalateAfter }: CancelOptions): void {
    this.post({ is: 'cancel', at })
    if (escalateAfter === undefined || at === 'now') return
    this.#after(escalateAfter, () => this.post({ is: 'cancel', at: 'now', escalated: true }))
  }

  /** The run must not go on. The first reason counts. */
  fail(failure: AgentError): void {
    if (isLost(this.state)) return
    this.failure = failure
    this.post({ is: failure instanceof RunAbortedError ? 'abort' : 'failure' })
  }

  /** Throws at a safe point of this kind, if the run is to stop there. */
  stopAt(point: Exclude<CancelMode, 'now'>): void {
    if (reaches(this.state, point)) throw this.error
  }

  /** A signal for the next model request, aborted with the run. */
  nextRequest(): AbortSignal {
    this.#request = new AbortController()
    if (this.signal.aborted) this.leaveRequest(this.signal.reason)
    return this.#request.signal
  }

  leaveRequest(reason?: unknown): void {
    this.#request?.abort(reason)
  }

  /** What the work gives, as long as the run waits for it. For one at a time. */
  until<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      // Not a function made here: V8 keeps one that is assigned to a member, and with it the run, until the next full collection.
      this.#giveUp = reject
      if (!isAwaited(this.state)) reject(this.reason)
      work.then(resolve, reject)
    })
  }

  /** Nobody waits for anything any more. */
  close(): void {
    for (const one of this.#timers) clearTimeout(one)
  }

  #after(ms: number, act: () => void): void {
    this.#timers.push(timer(ms, act))
  }

  /** Does what is due. Who is told may change the state meanwhile: each thing is read off it anew, and may be done twice. */
  #act(stop?: RunStop): void {
    const { background, innerRuns, config } = this.#run
    if (!mayStart(this.state) && !isLost(this.state)) this.#halted.abort(stop ?? this.error)
    if (this.state.stop === 'pause') this.#paused.abort(this.halted.reason)
    if (!isAwaited(this.state)) this.#giveUp?.(this.reason)
    if (this.state.phase === 'over') return
    const { mode } = this.state
    if (mode) background.wake()
    if (runsOn(this.state)) {
      if (!mode) return
      if (this.state.betweenAttempts) this.leaveRequest(this.error)
      innerRuns.cancel(mode)
      return
    }
    if (this.signal.aborted) return
    if (this.state.stop === 'cancel') this.#takeLast()
    // One turn later than the tools' own grace time: what they settle to comes first.
    this.#after(config.grace, () => this.#after(0, () => this.post({ is: 'grace over' })))
    this.#stopped.abort(this.reason)
    this.leaveRequest(this.reason)
    this.#run.stopCalls(this.reason)
    background.abort(this.reason)
  }

  /** Before anything is torn down. A run that cannot be saved comes to nothing: a time limit that cancels has nobody to throw to. */
  #takeLast(): void {
    try {
      this.#run.takeLast()
    } catch (error) {
      this.fail(error as AgentError)
    }
  }
}
