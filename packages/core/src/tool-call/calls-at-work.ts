/** The calls of a run that are being made: from the moment they begin until they have settled, or are no longer waited for. */

import { RunStop } from '../errors.ts'
import { type CallStatus, EndedCalls, endState, type ToolStatus } from '../execution/tool-status.ts'
import type { ToolMessage } from '../message.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import { ToolDiscardedError } from '../tool-errors.ts'
import type { CallEntry } from './call-entry.ts'
import type { CallEvents } from './call-events.ts'
import { cutOff } from './call-results.ts'
import { endSpans } from './call-spans.ts'
import type { End, Result } from './call-state.ts'
import { makeCall } from './make-call.ts'

export class CallsAtWork {
  /** Ids of calls that were no longer waited for (K12). */
  readonly abandoned: string[] = []
  readonly #run: RunState
  readonly #events: CallEvents
  readonly #failed: (entry: CallEntry, error: unknown) => void
  readonly #ended = new EndedCalls()
  readonly #work: Set<Promise<unknown>> = new Set()

  /** `failed` is told of a call that threw what may end the run, before its slot is free. */
  constructor(run: RunState, events: CallEvents, failed: (entry: CallEntry, error: unknown) => void) {
    this.#run = run
    this.#events = events
    this.#failed = failed
  }

  begin(entry: CallEntry): void {
    entry.course.begin()
    this.#events.started(entry)
    entry.promise = this.#make(entry)
    this.keep(entry.promise)
  }

  /** Makes the call: its result as a message, or a throw if it ends the run or was discarded. */
  async #make(entry: CallEntry): Promise<ToolMessage> {
    let end: End = {}
    try {
      const work = makeCall(this.#run, entry)
      entry.work = work
      const made = await Promise.race([work, entry.abandoned.then(() => abandon(entry))])
      if (entry.discarded) throw new ToolDiscardedError(entry.call.id, entry.discarded)
      if (entry.dropped && !entry.cancelled) throw entry.dropped
      const { message, ...rest } = entry.cancelled ? cutOff(entry) : made
      const result = freeze({ ...message, callId: entry.id, name: entry.call.name })
      end = { message: result, ...rest }
      return result
    } catch (thrown) {
      const error = entry.dropped ?? thrown
      // It stays open, and so do those that must not overtake it: they start after the resume, too (A22, H14).
      if (error instanceof RunStop && (error === entry.dropped || !entry.signal.aborted)) end = { stopped: error }
      // What waits for its slot must not start any more (A12).
      else this.#failed(entry, error)
      throw error
    } finally {
      this.#settle(entry, end)
      if (entry.fate.isCommitted) this.close(entry)
      if (!entry.signal.aborted) this.#run.saver.soon()
    }
  }

  #settle(entry: CallEntry, end: End): void {
    if (entry.isAbandoned) this.abandoned.push(entry.id)
    entry.settle(end)
    const { message } = end
    this.ended(entry, message !== undefined && !message.isError)
  }

  /** How a call has ended is told from now on, as long as it is {@link remembered}. */
  ended(entry: CallEntry, ok: boolean): void {
    entry.status.end(endState(entry, ok), this.#ended.next())
  }

  /** A call that was made is over, and the reader is told. */
  close(entry: CallEntry): void {
    endSpans(entry, this.#run.metrics)
    this.#events.ended(entry)
    // Only `returnDirect` still asks for it.
    if (!entry.tool?.returnDirect) entry.record.done = undefined
  }

  /** What is told of a call, as long as it is remembered (I6). */
  remembered(status: CallStatus): ToolStatus | undefined {
    return this.#ended.remembered(status, this.#run.config.statusFor)
  }

  /** Nothing floats: what is at work is known until it has settled. */
  keep(work: Promise<unknown>): void {
    const done = work.catch(() => undefined).finally(() => this.#work.delete(done))
    this.#work.add(done)
  }

  /** Resolves when nothing is at work: every call has settled or was abandoned. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work)
  }
}

/** Nobody waits for it any more. */
function abandon(entry: CallEntry): Result {
  if (entry.cancelled) return cutOff(entry)
  throw entry.signal.reason
}
