/** All that a run keeps of its calls: their table, and beside it events, counts, warm-ups, contexts, and the work that has not settled. */

import type { Context } from '@opentelemetry/api'
import { isFinal } from '../machine/call.ts'
import type { Interrupt } from '../vocabulary/interrupt.ts'
import type { ToolState, ToolStatus } from '../vocabulary/tool-status.ts'
import { type CallEntry, isOpen } from './call-entry.ts'
import { CallEvents, type Listener } from './call-events.ts'
import type { CallStatus } from './call-status.ts'
import { CallTable } from './call-table.ts'
import type { WarmUps } from './capabilities.ts'

/** A call is forgotten when so many more have ended. */
const MOST_ENDED = 1_000

/** How many were made early, committed and discarded; and of how many a checkpoint had the results. */
interface Counts {
  early: number
  committed: number
  discarded: number
  reused: number
}

/** The run whose calls they are. */
interface Owner extends Listener {
  readonly work: { readonly needs: { warmUps(): WarmUps } }
  readonly id: string
  readonly saver: { readonly undos: { hadBegun(key: string): boolean } }
  readonly config: { readonly statusFor: number }
}

export class RunCalls {
  readonly table: CallTable
  /** What the reader sees of them. */
  readonly events: CallEvents
  readonly warmUps: WarmUps
  /** The contexts of the attempts at work. */
  readonly contexts: Map<number, Context> = new Map()
  readonly counts: Counts = { early: 0, committed: 0, discarded: 0, reused: 0 }
  /** How many calls the responses that stood have requested; over all resumes each counts once. */
  wanted = 0
  /** Those that the loop waits for: one of these that fails ends the run. */
  awaited: readonly CallEntry[] = []
  /** Ids of calls that were no longer waited for. */
  readonly abandoned: string[] = []
  readonly #run: Owner
  /** How many calls have ended. */
  #ended = 0
  readonly #atWork: Set<Promise<unknown>> = new Set()

  constructor(run: Owner) {
    this.#run = run
    this.warmUps = run.work.needs.warmUps()
    this.events = new CallEvents(run)
    this.table = new CallTable(run.id, (key) => run.saver.undos.hadBegun(key))
  }

  /** How a call has ended is told from now on, as long as it is {@link remembered}. */
  end({ status }: CallEntry, state: ToolState): void {
    status.end(state, ++this.#ended)
  }

  /**
   * What is told of a call, as long as it is remembered: until the time for that is over, or many more have ended. Without timers:
   * a call is forgotten when somebody looks for it.
   */
  remembered(status: CallStatus): ToolStatus | undefined {
    const { ended } = status
    const isLong = ended && performance.now() - ended.at >= this.#run.config.statusFor
    return isLong || (ended && this.#ended - ended.number >= MOST_ENDED) ? undefined : status.read()
  }

  /** Nothing floats: what is at work is known until it has settled. */
  track(work: Promise<unknown>): void {
    const done = work.catch(() => undefined).finally(() => this.#atWork.delete(done))
    this.#atWork.add(done)
  }

  /** Resolves when nothing is at work: every call has settled or was abandoned. */
  async idle(): Promise<void> {
    while (this.#atWork.size > 0) await Promise.allSettled(this.#atWork)
  }

  /** Whether something may still come of one of its calls, or of one that could start. */
  get isOpen(): boolean {
    const { response, all } = this.table.state
    if (response.isOpen) return true
    for (const call of all.values()) if (!call.work && (call.kept || !isFinal(call))) return true
    return false
  }

  /** The attempt that has announced a call of this id. */
  attemptOf(callId: string): number | undefined {
    return this.table.state.response.announcedBy.get(callId)
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
