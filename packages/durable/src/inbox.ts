/** Connects the runs of agents with their inboxes: the messages that other processes send. */

import { type Agent, type Checkpoint, type Middleware, runLocal } from '@meanwhile/core'
import type { LiveRun } from './live-run.ts'
import type { Claim } from './runs-table.ts'

export class Inboxes {
  readonly #live = new Map<string, { readonly run: LiveRun; readonly claim: Claim }>()
  readonly #middleware: Middleware

  constructor() {
    // Only middleware can reach the cell of a run.
    const position = runLocal({ key: KEY, schema: COUNT, initial: 0 })
    this.#middleware = {
      name: 'durable-inbox',
      beforeAgent: async (_setup, run) => {
        const live = this.#live.get(run.id)
        await live?.run.readInbox(position(run), live.claim)
      },
    }
  }

  /** Returns the agent, with runs that read their inbox. */
  withInbox<Output>(agent: Agent<Output>): Agent<Output> {
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

/** How many messages of its inbox a run has read, according to its checkpoint. */
export function messagesRead({ values }: Checkpoint): number {
  return Number(values[KEY] ?? 0)
}

/** The name of the cell in checkpoints. */
const KEY = 'durable.inbox'

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
