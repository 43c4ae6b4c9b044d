/**
 * The calls of a run, each made at most once, and the gate between a call's start and its place in the history.
 *
 * A call made while its model call is still open is provisional. When the model call has stood, what the loop asks for is
 * committed and the rest discarded; a call of a failed attempt is held until then, so that an equal call of the next attempt
 * joins it.
 */

import type { Context } from '@opentelemetry/api'
import { CheckpointConflictError } from '../checkpoint/checkpoint-errors.ts'
import { RunStop } from '../errors.ts'
import type { DiscardCause } from '../events.ts'
import type { Interrupt } from '../interrupt/interrupt.ts'
import { isOver } from '../machine/call.ts'
import { responseEnded } from '../machine/decide.ts'
import { askedBy } from '../machine/decide-call.ts'
import { type AssistantMessage, callsOf, type ToolCall, type ToolMessage } from '../message.ts'
import type { CallOptions } from '../middleware.ts'
import type { Given } from '../needs/needs.ts'
import { NeedsStarts } from '../needs/needs-starts.ts'
import { WarmUps } from '../needs/warm-ups.ts'
import type { RunState } from '../run/run.ts'
import type { Actor } from '../run/run-view.ts'
import { AskedCalls } from './asked-calls.ts'
import { type CallEntry, isOpen } from './call-entry.ts'
import { CallEvents } from './call-events.ts'
import { CallTable } from './call-table.ts'
import { CallsAtWork } from './calls-at-work.ts'
import { CommitGate, type GateCounts } from './commit-gate.ts'
import { causeOf } from './discard-cause.ts'
import { KnownCalls } from './known-calls.ts'
import { StreamedCalls } from './streamed-calls.ts'

export class ToolCalls {
  readonly table: CallTable
  /** What the reader sees of them. */
  readonly events: CallEvents
  /** What the response at work says of them. */
  readonly streamed: StreamedCalls
  /** What is asked about one by its id. */
  readonly known: KnownCalls
  /** How many the responses that stood have asked for; over all resumes each counts once. */
  wanted = 0
  readonly #run: RunState
  /** The contexts of the attempts at work. */
  readonly #contexts: Map<number, Context> = new Map()
  readonly #warmUps: WarmUps = new WarmUps()
  readonly #atWork: CallsAtWork
  readonly #gate: CommitGate
  readonly #needs: NeedsStarts
  readonly #asked: AskedCalls

  constructor(run: RunState) {
    this.#run = run
    this.events = new CallEvents(run)
    this.table = new CallTable(run.id, (key) => run.undos.hadBegun(key))
    const shared = {
      run,
      events: this.events,
      table: this.table,
      contexts: this.#contexts,
      warmUps: this.#warmUps,
    }
    this.#atWork = new CallsAtWork(shared, (entry, error) => {
      if (this.#asked.includes(entry)) this.abort(error)
    })
    this.#gate = new CommitGate(run, this.table, this.events, this.#atWork)
    this.#needs = new NeedsStarts(run, this.table, this.#gate)
    const parts = {
      ...shared,
      atWork: this.#atWork,
      gate: this.#gate,
      needs: this.#needs,
      abort: (reason: unknown) => this.abort(reason),
    }
    this.streamed = new StreamedCalls(parts)
    this.known = new KnownCalls(parts)
    this.#asked = new AskedCalls(parts)
  }

  /** Ids of calls that were no longer waited for (K12). */
  get abandoned(): string[] {
    return this.#atWork.abandoned
  }

  get counts(): GateCounts & { readonly early: number } {
    return { early: this.#atWork.early, ...this.#gate.counts }
  }

  /**
   * A step's model call begins: the calls it announces are provisional until {@link commit} or {@link discardRest}. What only the steps
   * before it needed is let go of.
   */
  open(): void {
    this.streamed.renew()
    for (const { call } of this.table.letGo(this.#run.steps.begun)) this.#run.telemetry.forget(call.id)
  }

  /** A resumed step has its response already: the calls it asks for, and those a run before this one has made for it. */
  reopen(answer: AssistantMessage, attempt: number | undefined): void {
    this.open()
    for (const { id } of callsOf(answer)) {
      this.streamed.announced(id, attempt ?? 0)
      // It is this response's own: an equal call of it is another one, and joins none of these (H11).
      const by = this.table.state.response.askedBy.get(id)
      if (by !== undefined) this.table.get(id)?.decide(askedBy, by)
    }
  }

  /** {@link Run.callTool}: a call of the response that is coming, or one that a tool or wrap makes on the side. */
  call(call: ToolCall, actor: Actor, options: CallOptions = {}): Promise<ToolMessage> {
    return this.#asked.call(call, actor, options)
  }

  /** What `execute` of a call that has started with the members its tool needs is given. */
  givenOnNeeds(entry: CallEntry, call: ToolCall): Promise<Given> {
    return this.#needs.givenTo(entry, call)
  }

  /** The model call has stood with these calls: see {@link AskedCalls.commit}. */
  commit(calls: readonly ToolCall[], attempt: number | undefined): Promise<ToolMessage[]> {
    return this.#asked.commit(calls, attempt)
  }

  /** Lets go of a call, and of those it made, if they are provisional. */
  discard(entry: CallEntry, cause: DiscardCause): void {
    this.#gate.discard(entry, cause)
  }

  /** The model call failed with this, at last: unless it goes on after a resume, all its calls are let go of. */
  failed(error: unknown): void {
    if (!(error instanceof RunStop)) this.discardRest(causeOf(error))
  }

  /** The model call did not stand, or must not be acted on: lets go of all its calls. */
  discardRest(cause: DiscardCause): void {
    responseEnded(this.table.state)
    this.#warmUps.drop('the model call did not stand')
    this.#gate.discardAll(cause)
    this.table.turns.advance()
  }

  /**
   * The run is aborted or over: nothing more starts or commits, and what is at work is told to stop. What a stopped run has made
   * early stays as it is, for its resume (O8, O9).
   */
  abort(reason: unknown): void {
    responseEnded(this.table.state)
    this.#warmUps.drop('the run is over')
    const stop = this.#stopFor(reason)
    // Whoever has saved this run since has its calls, and decides on them.
    this.#gate.stop(stop, !stop && !(reason instanceof CheckpointConflictError))
    this.table.turns.advance()
    for (const entry of this.table.entries()) entry.abort(reason, this.#run.config.grace)
  }

  /** Whether something may still come of one of its calls, or of one that could start. */
  get isOpen(): boolean {
    const { response, all } = this.table.state
    if (response.isOpen) return true
    for (const call of all.values()) if (!call.isWork && (call.kept || !isOver(call))) return true
    return false
  }

  /** Resolves when nothing is at work: every call has settled or was abandoned. */
  idle(): Promise<void> {
    return this.#atWork.idle()
  }

  /** Nothing more comes of what stayed open. */
  over(): void {
    for (const entry of this.table.entries()) this.#run.telemetry.ended(entry)
  }

  /** A call is over, or the work behind one. */
  ended(entry: CallEntry, ok: boolean): void {
    this.#atWork.ended(entry, ok)
  }

  /** A call that a run before this one has made. */
  add(entry: CallEntry): void {
    this.table.add(entry)
  }

  /** The call of this id: its own, or one that a later attempt gave it. */
  get(callId: string): CallEntry | undefined {
    return this.table.get(callId)
  }

  entries(): readonly CallEntry[] {
    return this.table.entries()
  }

  /** Whether a question is one that a call asks, or the run inside it. */
  asks(interrupt: Interrupt): boolean {
    return this.table.entries().some((entry) => isOpen(entry) && entry.asks(interrupt))
  }

  /** Why the run stops, if it goes on after a resume: one inside of a run that is cancelled at once is aborted with its call. */
  #stopFor(reason: unknown): RunStop | undefined {
    if (reason instanceof RunStop) return reason
    return this.#run.isCancelledNow ? this.#run.halt.error : undefined
  }
}
