/** Tracks the status of a call, which `run.toolStatus` returns. */

import { freeze } from '../vocabulary/history.ts'
import type { Json } from '../vocabulary/message.ts'
import { present } from '../vocabulary/present.ts'
import type { Progress, ToolState, ToolStatus } from '../vocabulary/tool-status.ts'
import type { Wait } from './rest.ts'

/** The status of one call. Times are in `performance.now()`. */
export class CallStatus {
  #state: ToolState = 'queued'
  /** The last report of each member. */
  #reported: Progress = {}
  #started: number | undefined
  /** The waits of its executions, in their order. */
  readonly #waits: Wait[] = []
  ended: { readonly at: number; readonly number: number } | undefined
  readonly cancelable: boolean
  readonly #startedBefore: boolean

  constructor(cancelable: boolean, startedBefore: boolean) {
    this.cancelable = cancelable
    this.#startedBefore = startedBefore
  }

  /** Its function is called. */
  begin(): void {
    this.#started ??= performance.now()
    this.#state = 'running'
  }

  /** An execution receives the rest of its input. */
  waits(rest: Wait): void {
    this.#waits.push(rest)
  }

  /**
   * Returns a tool's report as it is shown. Progress is limited to 0..1 and never decreases: a lower or non-finite value is shown as the last one.
   * The metadata is a frozen copy, because a tool may change its own.
   */
  report({ progress, message, metadata: given }: Progress): Progress {
    const metadata = given === undefined ? undefined : freeze(copyOf(given))
    const last = this.#reported.progress
    const reached = Number.isFinite(progress) ? Math.max(last ?? 0, Math.min(progress ?? 0, 1)) : last
    const report = present({ progress: progress === undefined ? progress : reached, message, metadata })
    this.#reported = { ...this.#reported, ...report }
    return Object.freeze(report)
  }

  /** `number`: how many calls of its run have ended so far. */
  end(state: ToolState, number = 0): void {
    this.#state = state
    this.ended = { at: performance.now(), number }
  }

  read(): ToolStatus {
    const waitedMs = this.#waited()
    return present({
      state: this.#state,
      ...this.#reported,
      cancelable: this.cancelable,
      startedAt: timeOf(this.#started),
      startedBefore: this.#startedBefore || undefined,
      waitedMs: waitedMs || undefined,
      endedAt: timeOf(this.ended?.at),
    })
  }

  /** Returns how long executions waited. Time in which several executions wait is counted once. */
  #waited(): number {
    const now = this.ended?.at ?? performance.now()
    let [ms, from] = [0, 0]
    for (const wait of this.#waits) {
      ms += wait.within(from, now)
      from = Math.max(from, wait.until ?? now)
    }
    return ms
  }
}

function copyOf(metadata: Json): Json {
  try {
    return structuredClone(metadata)
  } catch (cause) {
    throw new TypeError('the metadata of progress must be JSON', { cause })
  }
}

/** Converts from `performance.now()` to milliseconds since the epoch. */
function timeOf(at: number | undefined): number | undefined {
  return at === undefined ? at : performance.timeOrigin + at
}
