/** What becomes of a call that was made before its model call stood: it is committed, or discarded. */

import type { RunStop } from '../errors.ts'
import type { DiscardCause } from '../events.ts'
import { Interrupt } from '../interrupt/interrupt.ts'
import { restWithdrawn, runStopped, stands, withdrawn } from '../machine/decide.ts'
import { kept } from '../machine/decide-call.ts'
import type { RunState } from '../run/run.ts'
import { ToolDiscardedError } from '../tool-errors.ts'
import type { CallEntry } from './call-entry.ts'
import type { CallEvents } from './call-events.ts'
import type { CallTable } from './call-table.ts'
import type { CallsAtWork } from './calls-at-work.ts'
import { compensate } from './compensate.ts'

/** How many calls the gate has let through, and let go of; and how many that a checkpoint had the results of. */
export interface GateCounts {
  committed: number
  discarded: number
  reused: number
}

export class CommitGate {
  readonly counts: GateCounts = { committed: 0, discarded: 0, reused: 0 }
  readonly #run: RunState
  readonly #table: CallTable
  readonly #events: CallEvents
  readonly #atWork: CallsAtWork

  constructor(run: RunState, table: CallTable, events: CallEvents, atWork: CallsAtWork) {
    this.#run = run
    this.#table = table
    this.#events = events
    this.#atWork = atWork
  }

  /** `id`: of the attempt that stands, which need not be the last that joined. */
  commit(entry: CallEntry, id: string, modelEnded: number | undefined): void {
    if (entry.reused) this.counts.reused++
    // Calls committed or made after it stand behind it.
    const committed = stands(this.#table.state, entry.number, performance.now(), modelEnded)
    if (committed.size === 0) {
      // As a checkpoint has it: its result was kept, but nobody told of it.
      if (entry.message && !entry.state.isTold && !entry.discarded) this.#atWork.close(entry)
      return
    }
    for (const number of committed) this.#table.of(number)?.decided.resolve()
    this.rename(entry, id)
    this.#tellCommitted(entry, committed)
  }

  #tellCommitted(entry: CallEntry, committed: ReadonlySet<number>): void {
    // As a checkpoint has it: not made in this run, it is a call like any other.
    if (entry.state.course !== 'asleep') {
      if (!entry.maker) this.counts.committed++
      this.#events.committed(entry)
    }
    for (const child of entry.children) if (committed.has(child.number)) this.#tellCommitted(child, committed)
    if (entry.reused) this.#run.telemetry.reused(entry)
    if (entry.settled) this.#atWork.close(entry)
  }

  /**
   * The run stops, with `stop` if it goes on after a resume. `undo`: whether what is discarded is nobody else's.
   */
  stop(stop: RunStop | undefined, undo: boolean): void {
    const how = stop && (stop instanceof Interrupt ? 'interrupted' : 'cancelled')
    const keepsResults = stop !== undefined && !this.#run.signal.aborted
    this.#discarded(runStopped(this.#table.state, how, keepsResults), 'run_aborted', undo)
    if (undo) this.#undoKept()
  }

  /** An abort has won over the cancel that let go of them: no resume decides on them any more (K11, H23). */
  #undoKept(): void {
    for (const entry of this.#table.entries()) {
      if (!entry.decide(kept, undefined) || entry.state.course === 'asleep') continue
      if (!entry.maker) this.counts.discarded++
      this.#atWork.keep(over(entry).then(() => this.#undo(entry)))
    }
  }

  #undo(entry: CallEntry): Promise<boolean | undefined> {
    return compensate(this.#run, entry, this.#atWork.abandoned.includes(entry.id))
  }

  /** Discards all provisional calls except these. */
  discardAll(cause: DiscardCause, kept: ReadonlySet<CallEntry> = new Set()): void {
    const numbers = new Set([...kept].map(({ number }) => number))
    this.#discarded(
      restWithdrawn(this.#table.state, cause, ({ number }) => numbers.has(number)),
      cause,
    )
  }

  /** Discards a call while it is provisional: it alone is aborted, and nobody sees its result (H20). */
  discard(entry: CallEntry, cause: DiscardCause): void {
    this.#discarded(withdrawn(this.#table.state, entry.number, cause), cause)
  }

  #discarded(numbers: readonly number[], cause: DiscardCause, undo = true): void {
    const entries = numbers.flatMap((number) => this.#table.of(number) ?? [])
    for (const entry of entries) entry.decided.resolve()
    for (const entry of entries) this.#tellDiscarded(entry, cause, undo)
  }

  #tellDiscarded(entry: CallEntry, cause: DiscardCause, undo: boolean): void {
    // As a checkpoint has it, and nobody has asked for it since.
    if (entry.state.course === 'asleep') return
    if (!entry.state.kept) {
      if (!entry.maker) this.counts.discarded++
      if (entry.reused) this.#run.telemetry.reused(entry)
    }
    this.#events.discarded(entry)
    const reason = new ToolDiscardedError(entry.call.id, cause)
    entry.abort(reason, this.#run.config.grace)
    entry.warmUp?.abort(reason)
    const ended = async () => this.#run.telemetry.ended(entry, undo ? await this.#undo(entry) : undefined)
    this.#atWork.keep(over(entry).then(ended))
  }

  /** The call goes on under this id: whoever lists it has its new one. */
  rename(entry: CallEntry, id: string): void {
    const old = entry.id
    const isInside = (one: string) => one.startsWith(`${old}/`)
    const renamed = (one: string) => (one === old || isInside(one) ? id + one.slice(old.length) : one)
    this.#run.unknown = this.#run.unknown.map(renamed)
    entry.rename(id)
    this.#table.renamed(entry)
  }
}

/** Resolves when it is over, whatever it came to. */
async function over(entry: CallEntry): Promise<void> {
  // A wrap may stop the run in the very turn in which the call begins: it has no promise before that is through.
  await Promise.resolve()
  await entry.promise.catch(() => undefined)
}
