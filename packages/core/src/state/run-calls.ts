/** The calls of a run: their table, and with it their events, counts, warm-ups and contexts, and the work that has not settled. */

import type { Context } from '@opentelemetry/api'
import { isFinal } from '../machine/call.ts'
import type { Counts } from '../telemetry/around.ts'
import type { Interrupt } from '../vocabulary/interrupt.ts'
import type { ToolCall } from '../vocabulary/message.ts'
import type { ToolState, ToolStatus } from '../vocabulary/tool-status.ts'
import { type CallEntry, isOpen } from './call-entry.ts'
import { CallEvents, type Listener } from './call-events.ts'
import type { CallStatus } from './call-status.ts'
import { CallTable } from './call-table.ts'
import { WarmUps } from './warm-ups.ts'

/** A call is forgotten when this many more have ended. */
const MOST_ENDED = 1_000

/** The run of the calls. */
interface Owner extends Listener {
  readonly id: string
  readonly saver: { readonly undos: { hadBegun(key: string): boolean } }
  readonly config: { readonly statusFor: number }
}

export class RunCalls extends CallTable {
  /** What the reader sees of them. */
  readonly events: CallEvents
  readonly warmUps: WarmUps = new WarmUps()
  /** The contexts of the running attempts. */
  readonly contexts: Map<number, Context> = new Map()
  readonly counts: Counts = { early: 0, committed: 0, discarded: 0, reused: 0 }
  /** How many calls the accepted responses have requested. Each counts once over all resumes. */
  wanted = 0
  /** The calls for which the loop waits. If one of them throws an error that ends the run, the loop ends. */
  awaited: readonly CallEntry[] = []
  /** The ids of calls for which nothing waited any more. */
  readonly abandoned: string[] = []
  readonly #run: Owner
  /** How many calls have ended. */
  #ended = 0
  readonly #running: Set<Promise<unknown>> = new Set()

  constructor(run: Owner) {
    super(run.id, (key) => run.saver.undos.hadBegun(key))
    this.#run = run
    this.events = new CallEvents(run)
  }

  /** Records how a call has ended, as long as it is {@link remembered}. */
  end({ status }: CallEntry, state: ToolState): void {
    status.end(state, ++this.#ended)
  }

  /** Returns the status of a call, until its time is over or many more have ended. Checked at each read, without a timer. */
  remembered(status: CallStatus): ToolStatus | undefined {
    const { ended } = status
    const isLong = ended && performance.now() - ended.at >= this.#run.config.statusFor
    return isLong || (ended && this.#ended - ended.number >= MOST_ENDED) ? undefined : status.read()
  }

  /** Tracks a promise until it has settled, so that none is left floating. */
  track(work: Promise<unknown>): void {
    const done = work.catch(() => undefined).finally(() => this.#running.delete(done))
    this.#running.add(done)
  }

  /** Resolves when nothing is running: every call has settled or was abandoned. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  /** Whether a call of the run can still change, or another one can still start. */
  get isOpen(): boolean {
    const { response, all } = this.state
    if (response.isOpen) return true
    for (const call of all.values()) if (!call.work && (call.kept || !isFinal(call))) return true
    return false
  }

  /** The attempt that has announced a call with this id. */
  attemptOf(callId: string): number | undefined {
    return this.state.response.announcedBy.get(callId)
  }

  /** Whether the model wrote this call although its request did not offer the tool. A wrap or hook may have given the call another tool since. */
  isUnoffered({ id, name }: Pick<ToolCall, 'id' | 'name'>): boolean {
    return this.state.response.unoffered.get(id) === name
  }

  /** Whether a call, background work, or a run inside one of them asks this question. */
  asks(interrupt: Interrupt): boolean {
    return [...this.entries(), ...this.works()].some((entry) => isOpen(entry) && entry.asks(interrupt))
  }
}
