/** A run that is running in this process: it follows cancellations and messages that other processes store in the database. */

import { type Agent, type AgentRun, type CancelMode, type Cell, type Middleware, runLocal } from '@meanwhile/core'
import { coalesced } from './coalesced.ts'
import type { Claim, Orders, RunsTable } from './runs-table.ts'
import type { KnownOutcome } from './stopped-run.ts'

export class LiveRun {
  /** The outcome, once the run has stopped. */
  outcome: KnownOutcome | undefined
  readonly #runs: RunsTable
  readonly #id: string
  #run: AgentRun | undefined
  #begun: (() => void) | undefined
  readonly #begins: Promise<void>
  /** The number of the last inbox message that the run has read. It is part of the checkpoint. */
  #place: Cell<number> | undefined
  #read: number | undefined
  #isCancelled = false
  #isHandedBack = false
  readonly #look = coalesced(() => this.#followOrders())

  constructor(runs: RunsTable, id: string) {
    this.#runs = runs
    this.#id = id
    this.#begins = new Promise((resolve) => {
      this.#begun = resolve
    })
  }

  /** How many inbox messages the run has read; undefined until that is known. */
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

  begin(run: AgentRun): void {
    this.#run = run
    this.#begun?.()
    if (this.#isHandedBack) this.#cancel('now')
  }

  /** Before the first model call: reads the waiting messages. */
  async enter(place: Cell<number>, { sent }: Pick<Claim, 'sent'>): Promise<void> {
    await this.#begins
    this.#place = place
    this.#read = place.value
    // If the database fails, the next poll reads them.
    if (sent > place.value) await this.#take().catch(() => undefined)
  }

  /** Checks whether the run was cancelled or has new messages, as soon as the run has begun. */
  obey(): void {
    void this.#look()
  }

  /** The worker is stopping: the run stops when its running tools have ended, or after `grace` milliseconds. */
  handBack(grace: number): void {
    this.#isHandedBack = true
    this.#run?.cancel({ at: 'after-tools', escalateAfter: grace }).catch(() => undefined)
  }

  async #followOrders(): Promise<void> {
    await this.#begins
    // If the database fails, the next change or the timer repeats this.
    const orders = await this.#runs.orders(this.#id).catch(() => NONE)
    // A deleted run stops, too.
    if (!orders || orders.cancel) {
      this.#isCancelled = true
      this.#cancel(orders?.cancel ?? 'now')
    }
    if (orders && this.#place && orders.sent > this.#place.value) await this.#take().catch(() => undefined)
  }

  #cancel(at: CancelMode): void {
    this.#run?.cancel({ at }).catch(() => undefined)
  }

  async #take(): Promise<void> {
    if (!this.#place) return
    for (const { seq, message } of await this.#runs.inbox(this.#id, this.#place.value)) {
      const before: number = this.#place.value
      if (seq <= before) continue
      // In the same checkpoint as the message.
      this.#place.value = seq
      if (!this.#run?.send(message)) {
        this.#place.value = before
        return
      }
      this.#read = seq
    }
  }
}

const NONE: Orders = { sent: 0 }

/** Connects the runs of agents with their inboxes. The `place` of a run is a cell that only middleware can reach. */
export class Inboxes {
  readonly #live = new Map<string, { readonly run: LiveRun; readonly claim: Claim }>()
  readonly #middleware: Middleware

  constructor() {
    const place = runLocal({ key: 'durable.inbox', schema: COUNT, initial: 0 })
    this.#middleware = {
      name: 'durable-inbox',
      beforeAgent: async (_setup, run) => {
        const live = this.#live.get(run.id)
        await live?.run.enter(place(run), live.claim)
      },
    }
  }

  /** Returns the agent, with runs that read their inbox. */
  readerOf<Output>(agent: Agent<Output>): Agent<Output> {
    return agent.with({ middleware: [...agent.middleware, this.#middleware] })
  }

  open(run: LiveRun, claim: Claim): () => void {
    const live = { run, claim }
    this.#live.set(claim.id, live)
    return () => {
      if (this.#live.get(claim.id) === live) this.#live.delete(claim.id)
    }
  }
}

/** A Standard Schema. */
const COUNT = {
  '~standard': {
    version: 1,
    vendor: 'meanwhile',
    validate: (value: unknown) =>
      typeof value === 'number' && Number.isInteger(value) && value >= 0
        ? { value }
        : { issues: [{ message: 'must be an integer, 0 or more' }] },
  },
} as const
