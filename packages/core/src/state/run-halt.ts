/** Passes a stop of a run on to its calls, requests and inner runs, and holds its errors. `machine/halt.ts` decides what happens. */

import { LazyController } from '../flow/follow.ts'
import { timer } from '../flow/grace.ts'
import { unheard } from '../flow/unheard.ts'
import {
  decideHalt,
  type Halt,
  type HaltFact,
  hasFailed,
  isAwaited,
  mayStart,
  reaches,
  runsOn,
} from '../machine/halt.ts'
import type { CancelMode, CancelOptions } from '../vocabulary/cancel.ts'
import { type AgentError, RunAbortedError, RunCancelled, type RunStop } from '../vocabulary/errors.ts'

/** The part of a run that a halt acts on. */
interface Halting {
  readonly config: { readonly grace: number }
  readonly saver: { flush(): Promise<void> }
  readonly innerRuns: ReadonlyMap<{ readonly halt: { cancel(options: CancelOptions): void } }, unknown>
  stopCalls(reason: unknown): void
  takeLast(): unknown
}

export class RunHalt {
  state: Halt = { phase: 'loading' }
  /** Why the run fails, if it does. */
  failure: AgentError | undefined
  readonly #run: Halting
  readonly #halted = new LazyController()
  readonly #paused = new LazyController()
  readonly #stopped = new AbortController()
  readonly #timers: ReturnType<typeof timer>[] = []
  /** The controller of the latest model request. */
  #request: AbortController | undefined
  #cancelled: RunCancelled | undefined
  #giveUp: ((reason: AgentError) => void) | undefined
  #wake: (() => void) | undefined

  constructor(run: Halting) {
    this.#run = run
  }

  /** Aborts when calls that have not started must wait for a resume. */
  get halted(): AbortSignal {
    return this.#halted.signal
  }

  /** Aborts when the run goes no further: the fate of provisional calls is decided after a resume. */
  get paused(): AbortSignal {
    return this.#paused.signal
  }

  /** Aborts when everything that is running must stop. */
  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  /** The error that wraps and calls throw when the run is cancelled. Created on first use, because an error records its stack. */
  get error(): RunCancelled {
    return (this.#cancelled ??= new RunCancelled())
  }

  /** Why everything that is running must stop. */
  get reason(): AgentError {
    return this.failure ?? this.error
  }

  /** Records a fact. `stop`: the error for everything that waits for a resume, unless it is that of a cancel. */
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

  /** Stops the run with this error. If it is called again, the first error counts. */
  fail(failure: AgentError): void {
    if (hasFailed(this.state)) return
    this.failure = failure
    this.post({ is: failure instanceof RunAbortedError ? 'abort' : 'failure' })
  }

  /** Throws at a safe point of this kind, if the run has to stop there. */
  stopAt(point: Exclude<CancelMode, 'now'>): void {
    if (reaches(this.state, point)) throw this.error
  }

  /** A signal for the next model request, which aborts with the run. */
  nextRequest(): AbortSignal {
    this.#request = new AbortController()
    if (this.signal.aborted) this.leaveRequest(this.signal.reason)
    return this.#request.signal
  }

  leaveRequest(reason?: unknown): void {
    this.#request?.abort(reason)
  }

  /** Returns the outcome of the work, as long as the run waits for it. Only one wait at a time is possible. */
  until<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      // No closure here: V8 keeps a closure that is assigned to a member, and with it the whole run, until the next full garbage collection.
      this.#giveUp = reject
      if (!isAwaited(this.state)) reject(this.reason)
      work.then(resolve, reject)
    })
  }

  /** Resolves at the next cancel. Only one wait at a time is possible. */
  untilCancelled(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** Nothing waits any more: clears the timers. */
  close(): void {
    for (const one of this.#timers) clearTimeout(one)
  }

  #after(ms: number, act: () => void): void {
    this.#timers.push(timer(ms, act))
  }

  /** Acts on the state. Code that it calls may change the state, so each part reads the state again, and may run twice. */
  #act(stop?: RunStop): void {
    const { innerRuns, config } = this.#run
    if (!mayStart(this.state) && !hasFailed(this.state)) this.#halted.abort(stop ?? this.error)
    if (this.state.stop === 'pause') this.#paused.abort(this.halted.reason)
    if (!isAwaited(this.state)) this.#giveUp?.(this.reason)
    if (this.state.phase === 'over') return
    const { mode } = this.state
    if (mode) this.#wake?.()
    if (runsOn(this.state)) {
      if (!mode) return
      if (this.state.betweenAttempts) this.leaveRequest(this.error)
      for (const inner of innerRuns.keys()) inner.halt.cancel({ at: mode })
      return
    }
    if (this.signal.aborted) return
    void unheard(this.#run.saver.flush())
    if (this.state.stop === 'cancel') this.#takeLast()
    // One turn after the tools' own grace time, so that their outcomes come first.
    this.#after(config.grace, () => this.#after(0, () => this.post({ is: 'grace over' })))
    this.#stopped.abort(this.reason)
    this.leaveRequest(this.reason)
    this.#run.stopCalls(this.reason)
  }

  /** Takes the last checkpoint before anything is stopped. If it cannot be taken, the run fails: a timer has no caller to throw to. */
  #takeLast(): void {
    try {
      this.#run.takeLast()
    } catch (error) {
      this.fail(error as AgentError)
    }
  }
}
