/** A run that is running in this process: it follows cancellations and messages that other processes store in the database. */

import type { AgentRun, CancelMode, Cell } from '@meanwhile/core'
import { coalesced } from './coalesced.ts'
import type { Claim, Requests, RunsTable } from './runs-table.ts'
import type { KnownOutcome } from './stopped-run.ts'

export class LiveRun {
  /** The outcome, once the run has stopped. */
  outcome: KnownOutcome | undefined
  /** Whether all processes were notified of its end. */
  isKnown = false
  readonly #runs: RunsTable
  readonly #id: string
  #run: AgentRun | undefined
  #onAttached: (() => void) | undefined
  readonly #attached: Promise<void>
  /** The number of the last inbox message that the run has read. It is part of the checkpoint. */
  #position: Cell<number> | undefined
  #read: number | undefined
  #isCancelled = false
  #isHandedBack = false
  readonly #check = coalesced(() => this.#followRequests())

  constructor(runs: RunsTable, id: string) {
    this.#runs = runs
    this.#id = id
    this.#attached = new Promise((resolve) => {
      this.#onAttached = resolve
    })
  }

  /** How many messages of its inbox the run has read, also in processes before this one; undefined if it has read none. */
  get read(): number | undefined {
    return this.#read
  }

  /** Whether the run was cancelled from outside. */
  get isCancelled(): boolean {
    return this.#isCancelled
  }

  get isHandedBack(): boolean {
    return this.#isHandedBack
  }

  attach(run: AgentRun): void {
    this.#run = run
    this.#onAttached?.()
    if (this.#isHandedBack) this.#cancel('now')
  }

  /** Before the first model call: reads the waiting messages. */
  async readInbox(position: Cell<number>, { sent }: Pick<Claim, 'sent'>): Promise<void> {
    await this.#attached
    this.#position = position
    if (position.value > 0) this.#read = position.value
    // If the database fails, the next poll reads them.
    if (sent > position.value) await this.#readMessages().catch(() => undefined)
  }

  /** Checks whether the run was cancelled or has new messages, as soon as the run has begun. A run that has stopped follows nothing more. */
  checkRequests(): void {
    if (!this.outcome) void this.#check()
  }

  /** The worker is stopping: the run stops when its running tools have ended, or after `grace` milliseconds. */
  handBack(grace: number): void {
    this.#isHandedBack = true
    this.#run?.cancel({ at: 'after-tools', escalateAfter: grace }).catch(() => undefined)
  }

  async #followRequests(): Promise<void> {
    await this.#attached
    // If the database fails, the next change or the timer repeats this.
    const requests = await this.#runs.requests(this.#id).catch(() => NO_REQUESTS)
    // A deleted run stops, too.
    if (!requests || requests.cancel) {
      this.#isCancelled = true
      this.#cancel(requests?.cancel ?? 'now')
    }
    if (requests && this.#position && requests.sent > this.#position.value)
      await this.#readMessages().catch(() => undefined)
  }

  #cancel(at: CancelMode): void {
    this.#run?.cancel({ at }).catch(() => undefined)
  }

  async #readMessages(): Promise<void> {
    if (!this.#position) return
    for (const { seq, message } of await this.#runs.inbox(this.#id, this.#position.value)) {
      const before: number = this.#position.value
      if (seq <= before) continue
      // In the same checkpoint as the message.
      this.#position.value = seq
      if (!this.#run?.send(message)) {
        this.#position.value = before
        return
      }
      this.#read = seq
    }
  }
}

const NO_REQUESTS: Requests = { sent: 0 }
