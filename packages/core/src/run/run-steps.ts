/** How far a run has come: the step at work, and whether another may begin. */

import type { Context } from '@opentelemetry/api'
import { MaxStepsError, MiddlewareError, type OutputError } from '../errors.ts'
import { LazyController } from '../flow/lazy-controller.ts'
import { wrapLeft } from '../flow/wrap-left.ts'
import type { AgentSetup } from '../tool.ts'
import type { RunState } from './run.ts'
import { Step } from './step.ts'

export class RunSteps {
  /** Steps begun. */
  begun = 0
  /** The one at work; absent between two. */
  current: Step | undefined
  /** What the gate said when it rejected the last answer. */
  feedback: string | undefined
  /** Aborts when a wrap leaves the steps that are at work. */
  left: LazyController = new LazyController()
  readonly #run: RunState
  /** Why that answer did not fit the output schema, if that was what was wrong with it. */
  #misfit: OutputError | undefined
  #areAtWork = false
  #haveBegun = false
  /** Who called `next` again last: the one to blame for steps that begin while others are at work. */
  #repeater = ''

  constructor(run: RunState) {
    this.#run = run
  }

  /** A `wrapAgent` calls its `next` again. */
  repeatedBy(middleware: string): void {
    this.#repeater = middleware
  }

  /** The set-up and the place of steps that begin. They share one history, so that those before must be out. */
  enter(setup: AgentSetup, context: Context): void {
    const run = this.#run
    if (this.#areAtWork)
      throw new MiddlewareError(this.#repeater, 'wrapAgent', 'the steps of an earlier next are not out yet')
    // Called again, the steps go on with a new one.
    if (this.#haveBegun) {
      run.halt.stopAt('after-tools')
      this.current = undefined
    }
    this.#haveBegun = true
    this.#areAtWork = true
    this.left = new LazyController()
    run.inbox.isClosed = this.current?.phase === 'over'
    run.setup = setup
    run.context = context
    run.calls.table.state.limit = setup.toolConcurrency
    run.calls.table.state.innerLimit = setup.innerConcurrency
  }

  /** The steps are out. */
  leave(): void {
    this.#areAtWork = false
  }

  /** The step in whose middle the run is, or the next. Throws {@link MaxStepsError} if there is none left. */
  open(): Step {
    if (this.current) return this.current
    const run = this.#run
    run.halt.stopAt('after-tools')
    run.background.stopIfAsked()
    if (!this.mayGoOn) {
      this.takeNews()
      throw new MaxStepsError(run.setup.maxSteps, this.feedback, this.#misfit && { cause: this.#misfit })
    }
    this.feedback = undefined
    this.#misfit = undefined
    this.current = new Step(++this.begun, run.history.messages)
    return this.current
  }

  /** Whether another may follow. */
  get mayGoOn(): boolean {
    return this.begun < this.#run.setup.maxSteps
  }

  /** Whether there is something the model has not read, and a step in which it can. */
  get hasNews(): boolean {
    const { inbox, background } = this.#run
    return inbox.messages.length > 0 || (background.hasNews && this.mayGoOn)
  }

  /** Messages from outside of the steps enter the history: between two, and never between a call and its result (K18, I15). */
  takeNews(): void {
    const { inbox, background, history } = this.#run
    for (const message of [...background.deliver(), ...inbox.take()]) history.append(message)
  }

  /** The answer was not accepted: the next step, if there is one, is for a better one. */
  rejected(feedback: string, misfit: OutputError | undefined): void {
    this.feedback = feedback
    this.#misfit = misfit
  }

  /** A `wrapAgent` has left: the step at work, if there is one, waits for nothing more. */
  abandon(): void {
    if (!this.#areAtWork) return
    this.left.abort(wrapLeft())
    this.#run.halt.leaveRequest()
    this.#run.stopCalls(wrapLeft())
  }
}
