/** Makes the calls of a run: from the moment they start until they have settled, or are no longer waited for. */

import type { Context } from '@opentelemetry/api'
import { RunStop } from '../errors.ts'
import { type CallStatus, endState, type ToolStatus } from '../execution/tool-status.ts'
import { follow } from '../flow/follow.ts'
import type { LazyController } from '../flow/lazy-controller.ts'
import { isAbandoned } from '../machine/call.ts'
import { begun, endOf } from '../machine/decide-call.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { CallOptions } from '../middleware.ts'
import type { Rest } from '../needs/rest.ts'
import type { WarmUps } from '../needs/warm-ups.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import type { Actor } from '../run/run-view.ts'
import { ToolDiscardedError } from '../tool-errors.ts'
import { findTool } from './aliases.ts'
import { CallEntry } from './call-entry.ts'
import type { CallEvents } from './call-events.ts'
import { cutOff, type Ending, type Result } from './call-results.ts'
import type { CallTable } from './call-table.ts'
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

interface Parts {
  readonly run: RunState
  readonly events: CallEvents
  readonly table: CallTable
  /** The contexts of the attempts at work. */
  readonly contexts: ReadonlyMap<number, Context>
  readonly warmUps: WarmUps
}

export class CallsAtWork {
  /** How many a response had asked for before it stood. */
  early = 0
  /** Ids of calls that were no longer waited for (K12). */
  readonly abandoned: string[] = []
  readonly #parts: Parts
  readonly #run: RunState
  readonly #failed: (entry: CallEntry, error: unknown) => void
  /** How many calls have ended. */
  #ended = 0
  readonly #atWork: Set<Promise<unknown>> = new Set()

  /** `failed` is told of a call that threw what may end the run, before its slot is free. */
  constructor(parts: Parts, failed: (entry: CallEntry, error: unknown) => void) {
    this.#parts = parts
    this.#run = parts.run
    this.#failed = failed
  }

  start(call: ToolCall, { actor, attempt, options = {}, rest }: Start): CallEntry {
    const { run, table, contexts, warmUps } = this.#parts
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
    if (entry.provisional && !maker) this.early++
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
    const { run } = this.#parts
    entry.parent = actor && entry.maker ? actor.context : run.context
    this.#begin(entry)
    return entry
  }

  #begin(entry: CallEntry): void {
    entry.decide(begun)
    this.#parts.events.started(entry)
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
      else this.#failed(entry, error)
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
    if (entry.state.isAbandoned || isAbandoned(entry.state)) this.abandoned.push(entry.id)
    entry.status.end(endState(entry, ok), ++this.#ended)
  }

  /** A call that was made is over, and the reader is told. */
  close(entry: CallEntry): void {
    this.#run.telemetry.ended(entry)
    this.#parts.events.ended(entry)
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
}

/** A call on the side is cut off with the wrap that made it, if that is left. */
function endWith(entry: CallEntry, { signal }: LazyController, grace: number): void {
  const unfollow = follow(signal, () => entry.abort(signal.reason, grace))
  entry.promise.then(unfollow, unfollow)
}
