/** Reads the events of a durable run into the log of its turn. */

import { RunLog } from './run-log.ts'
import { steeringMessagesOf } from './steering.ts'
import { turnEvents } from './thread-history.ts'
import type { BegunTurn } from './thread-records.ts'
import { ifExists, type ThreadRunEvent, type ThreadRuns } from './thread-runs.ts'
import type { StoredEvent, StoredThread, ThreadStore } from './thread-store.ts'

interface ReadOptions {
  /** Whether to wait for new events until the run stops. */
  readonly follow: boolean
  readonly signal?: AbortSignal | undefined
}

export class RunReader {
  readonly #store: ThreadStore
  readonly #runs: ThreadRuns

  constructor(store: ThreadStore, runs: ThreadRuns) {
    this.#store = store
    this.#runs = runs
  }

  /** Returns the log of a running turn. `seq`: the number of the thread's last stored event. */
  async open(thread: string, turn: BegunTurn, seq: number): Promise<RunLog> {
    const from = Math.max(seq, turn.startSeq)
    const { before, own } = await turnEvents(this.#store, thread, turn)
    return new RunLog(turn, { before, own: own.filter((one) => one.seq <= from) }, from)
  }

  /** Reads the events of the run, also those that follow, until it stops. Yields the thread's events for each of them. */
  follow(thread: string, log: RunLog, signal?: AbortSignal): AsyncGenerator<readonly StoredEvent[], void> {
    return this.#read(thread, log, { follow: true, signal })
  }

  /** Reads the stored events of the run. There are none if the run was never started or was deleted. */
  async readStored(thread: string, log: RunLog): Promise<void> {
    // The run may start during the read, which must not fail because of that.
    if (!(await this.#runs.get(log.run))) return
    await ifExists(this.#runs, log.run, async () => {
      for await (const _ of this.#read(thread, log, { follow: false }));
    })
  }

  async *#read(
    thread: string,
    log: RunLog,
    { follow, signal }: ReadOptions,
  ): AsyncGenerator<readonly StoredEvent[], void> {
    const { after } = log
    const options = { follow, ...(after !== undefined && { after }), ...(signal && { signal }) }
    for await (const one of this.#runs.events(log.run, options)) {
      if (mayHaveUserMessage(one)) {
        const stored = await this.#store.load(thread)
        // The thread has stored this event by now. Only its copy has the id of a message that has joined the turn.
        if (follow && hasStoredMore(stored, log)) return
        log.steering = steeringMessagesOf(stored?.turns ?? [])
      }
      yield log.read(one)
      if (follow && one.event.type === 'run-stopped') return
    }
  }
}

/** Whether the thread has stored events since the log was opened. */
export function hasStoredMore(stored: StoredThread | undefined, { from }: RunLog): boolean {
  return stored !== undefined && stored.thread.seq > from
}

function mayHaveUserMessage({ event }: ThreadRunEvent): boolean {
  return event.type === 'history-replaced' || (event.type === 'message' && event.message.role === 'user')
}
