/**
 * The calls of a run, each made at most once: from the moment they start until they have settled, or are no longer waited for.
 *
 * A call made while its model call is still open is provisional. When the model call has stood, what the loop asks for is
 * committed and the rest discarded; a call of a failed attempt is held until then, so that an equal call of the next attempt
 * joins it.
 */

import type { Context } from '@opentelemetry/api'
import type { CallOptions } from '../call-options.ts'
import { CheckpointConflictError } from '../checkpoint/checkpoint-errors.ts'
import { RunStop } from '../errors.ts'
import { type CallStatus, endState } from '../execution/tool-status.ts'
import { follow } from '../flow/follow.ts'
import type { LazyController } from '../flow/lazy-controller.ts'
import type { Interrupt } from '../interrupt/interrupt.ts'
import { isAbandoned, isOver } from '../machine/call.ts'
import { responseEnded } from '../machine/decide.ts'
import { begun, endOf } from '../machine/decide-call.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { Rest } from '../needs/rest.ts'
import { WarmUps } from '../needs/warm-ups.ts'
import type { Actor } from '../run/actor.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import { ToolDiscardedError } from '../tool-errors.ts'
import type { ToolStatus } from '../tool-status.ts'
import { findTool } from './aliases.ts'
import { CallEntry, isOpen } from './call-entry.ts'
import { CallEvents } from './call-events.ts'
import type { Ending, Result } from './call-outcomes.ts'
import { cutOff } from './call-results.ts'
import { CallTable } from './call-table.ts'
import { stopUndecided } from './fates.ts'
import { makeCall } from './make-call.ts'

/** A call is forgotten when so many more have ended. */
const MOST_ENDED = 1_000

interface Start {
  /** The tool or wrap that makes the call, or asks for it early. */
  readonly actor?: Actor
  /** The attempt that asks for it, if one does. */
  readonly attempt?: number | undefined
  readonly options?: CallOptions
  /** Of a call that starts with the members its tool needs. */
  readonly rest?: Rest | undefined
}

/** How many were made early, committed and discarded; and of how many a checkpoint had the results. */
interface Counts {
  early: number
  committed: number
  discarded: number
  reused: number
}

export class ToolCalls {
  readonly table: CallTable
  /** What the reader sees of them. */
  readonly events: CallEvents
  readonly warmUps: WarmUps = new WarmUps()
  /** The contexts of the attempts at work. */
  readonly contexts: Map<number, Context> = new Map()
  readonly counts: Counts = { early: 0, committed: 0, discarded: 0, reused: 0 }
  /** How many the responses that stood have asked for; over all resumes each counts once. */
  wanted = 0
  /** Those that the loop waits for: one of these that fails ends the run. */
  asked: readonly CallEntry[] = []
  /** Ids of calls that were no longer waited for (K12). */
  readonly abandoned: string[] = []
  readonly #run: RunState
  /** How many calls have ended. */
  #ended = 0
  readonly #atWork: Set<Promise<unknown>> = new Set()

  constructor(run: RunState) {
    this.#run = run
    this.events = new CallEvents(run)
    this.table = new CallTable(run.id, (key) => run.undos.hadBegun(key))
  }

  start(call: ToolCall, { actor, attempt, options = {}, rest }: Start): CallEntry {
    const { table, contexts, warmUps } = this
    const run = this.#run
    const { context, setup, steps, history } = run
    const maker = actor?.call
    const isAsked = attempt !== undefined
    const askedIn = isAsked && contexts.get(attempt)
    const entry = new CallEntry(table, {
      key: rest ? table.keyOfStart(call) : table.keyOf(call, steps.begun, isAsked, maker),
      call,
      tool: findTool(setup.tools, call.name),
      step: steps.begun,
      parent: actor && maker ? actor.context : context,
      attributes: options.attributes ?? {},
      attempt,
      ...(askedIn && { askedIn: [askedIn] }),
      maker,
      caller: run.caller,
      provisional: maker ? maker.provisional : isAsked && table.state.response.isOpen,
      most: maker ? { effect: maker.most.effect } : { effect: options.ceiling, keys: options.keys },
      rest,
      warmUp: maker ? undefined : warmUps.take(call.id),
    })
    table.add(entry)
    history.takenIds.add(call.id)
    if (entry.provisional && !maker) this.counts.early++
    actor?.execution?.children.push(entry)
    this.#begin(entry)
    if (actor?.own && !isAsked) endWith(entry, actor.own, run.config.grace)
    const { status } = entry
    options.started?.(() => status.read())
    return entry
  }

  /**
   * One that a checkpoint holds, and that is to be made, is begun when it is asked for. If its result is there, what it had called by then
   * and what never started is begun instead: nobody asks for that again.
   */
  begun(entry: CallEntry, actor?: Actor): CallEntry {
    if (entry.reused) for (const child of entry.children) if (child.state.attempts === 0) this.begun(child)
    if (entry.state.course !== 'asleep') return entry
    const run = this.#run
    entry.parent = actor && entry.maker ? actor.context : run.context
    this.#begin(entry)
    return entry
  }

  #begin(entry: CallEntry): void {
    entry.decide(begun)
    this.events.started(entry)
    entry.promise = this.#make(entry)
    this.keep(entry.promise)
  }

  /** Makes the call: its result as a message, or a throw if it ends the run or was discarded. */
  async #make(entry: CallEntry): Promise<ToolMessage> {
    let end: Ending = {}
    try {
      const made = await this.#work(entry)
      const how = endOf(entry.state, made.isCutOff ? 'cut off' : 'result')
      if (how === 'over') throw new ToolDiscardedError(entry.call.id, entry.discarded ?? 'call_withdrawn')
      if (how === 'open') throw entry.dropped
      const { message, ...rest } = entry.cancelled ? cutOff(entry) : made
      const result = freeze({ ...message, callId: entry.id, name: entry.call.name })
      end = { message: result, ...rest }
      return result
    } catch (thrown) {
      const error = entry.dropped ?? thrown
      // It stays open, and so do those that must not overtake it: they start after the resume, too (A22, H14).
      if (error instanceof RunStop && endOf(entry.state, 'stop') === 'open') end = { stopped: error }
      // What waits for its slot must not start any more (A12).
      else if (this.asked.includes(entry)) this.abort(error)
      throw error
    } finally {
      this.#settle(entry, end)
      if (entry.state.fate === 'committed') this.close(entry)
      if (!entry.signal.aborted) this.#run.saver.soon()
    }
  }

  /** What its wraps come to; once it is abandoned, nobody waits for that any more. */
  #work(entry: CallEntry): Promise<Result> {
    const work = makeCall(this.#run, entry)
    entry.work = work
    const abandoned = entry.abandoned.promise.catch((reason: Error) => {
      if (!entry.cancelled) throw reason
      return cutOff(entry)
    })
    return Promise.race([work, abandoned])
  }

  #settle(entry: CallEntry, end: Ending): void {
    entry.settle(end)
    const { message } = end
    this.ended(entry, message !== undefined && !message.isError)
  }

  /** How a call has ended is told from now on, as long as it is {@link remembered}. */
  ended(entry: CallEntry, ok: boolean): void {
    if (entry.state.isAbandoned || isAbandoned(entry.state)) this.#run.noLongerWaitedFor(entry.id)
    entry.status.end(endState(entry, ok), ++this.#ended)
  }

  /** A call that was made is over, and the reader is told. */
  close(entry: CallEntry): void {
    this.events.ended(entry)
    this.#run.telemetry.ended(entry)
    // Only `returnDirect` still asks for it.
    if (!entry.tool?.returnDirect) entry.done = undefined
  }

  /**
   * What is told of a call, as long as it is remembered (I6): until the time for that is over, or many more have ended. Without timers:
   * a call is forgotten when it is asked for.
   */
  remembered(status: CallStatus): ToolStatus | undefined {
    const { ended } = status
    const isLong = ended && performance.now() - ended.at >= this.#run.config.statusFor
    return isLong || (ended && this.#ended - ended.number >= MOST_ENDED) ? undefined : status.read()
  }

  /** Nothing floats: what is at work is known until it has settled. */
  keep(work: Promise<unknown>): void {
    const done = work.catch(() => undefined).finally(() => this.#atWork.delete(done))
    this.#atWork.add(done)
  }

  /** Resolves when nothing is at work: every call has settled or was abandoned. */
  async idle(): Promise<void> {
    while (this.#atWork.size > 0) await Promise.allSettled(this.#atWork)
  }

  /**
   * The run is aborted or over: nothing more starts or commits, and what is at work is told to stop. What a stopped run has made
   * early stays as it is, for its resume (O8, O9).
   */
  abort(reason: unknown): void {
    responseEnded(this.table.state)
    this.warmUps.drop('the run is over')
    const stop = this.#stopFor(reason)
    // Whoever has saved this run since has its calls, and decides on them.
    stopUndecided(this.#run, stop, !stop && !(reason instanceof CheckpointConflictError))
    this.table.turns.advance()
    const entries = this.entries()
    for (const { rest } of entries) rest?.fail(reason)
    this.table.stop(entries, reason, this.#run.config.grace)
  }

  /** Why the run stops, if it goes on after a resume: one inside of a run that is cancelled at once is aborted with its call. */
  #stopFor(reason: unknown): RunStop | undefined {
    if (reason instanceof RunStop) return reason
    return this.#run.isCancelledNow ? this.#run.halt.error : undefined
  }

  /** Nothing more comes of what stayed open. */
  over(): void {
    for (const entry of this.entries()) this.#run.telemetry.ended(entry)
  }

  /** Whether something may still come of one of its calls, or of one that could start. */
  get isOpen(): boolean {
    const { response, all } = this.table.state
    if (response.isOpen) return true
    for (const call of all.values()) if (!call.isWork && (call.kept || !isOver(call))) return true
    return false
  }

  /** The attempt that has announced a call of this id. */
  attemptOf(callId: string): number | undefined {
    return this.table.state.response.askedBy.get(callId)
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
    return this.entries().some((entry) => isOpen(entry) && entry.asks(interrupt))
  }
}

/** A call on the side is cut off with the wrap that made it, if that is left. */
function endWith(entry: CallEntry, { signal }: LazyController, grace: number): void {
  const unfollow = follow(signal, () => entry.abort(signal.reason, grace))
  entry.promise.then(unfollow, unfollow)
}
