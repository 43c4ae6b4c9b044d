/**
 * What state a call is in, and which moves there are. Two things move, each on its own, and neither ever back:
 *
 *     course   asleep ─▶ at work ─▶ settled: with a message, stopped, or with neither
 *     fate     provisional ─▶ committed, or discarded
 */

import type { RunStop } from '../errors.ts'
import type { DiscardCause } from '../events.ts'
import { follow } from '../flow/follow.ts'
import type { ToolMessage } from '../message.ts'
import { freeze } from '../run/history.ts'

/** What a call came to. With neither it threw what ends its run, was let go of, or went on when nobody waited any more. */
export interface End {
  readonly message?: ToolMessage
  /** What its wraps or its tool threw, where the message only says that. */
  readonly error?: unknown
  /** The message only says that the end of the run cut it off: a resume does not take it for a result. */
  readonly isCutOff?: boolean
  /** It stays open: its run has stopped, and a resume makes it. */
  readonly stopped?: RunStop
}

/** It has a message. */
export type Result = End & Required<Pick<End, 'message'>>

/** How far a call has come. */
export class Course {
  #isAsleep: boolean
  #end: End | undefined

  /** Of a checkpoint's calls each sleeps until it is asked for. */
  constructor(isAsleep: boolean) {
    this.#isAsleep = isAsleep
  }

  get isAsleep(): boolean {
    return this.#isAsleep
  }

  get isAtWork(): boolean {
    return !this.#isAsleep && !this.#end
  }

  /** What it came to; absent until it has settled. */
  get end(): End | undefined {
    return this.#end
  }

  begin(): void {
    this.#isAsleep = false
  }

  settle(end: End): void {
    this.#isAsleep = false
    this.#end ??= end
  }

  /** Its message goes on under this id. */
  rename(callId: string): void {
    const end = this.#end
    if (end?.message && end.message.callId !== callId)
      this.#end = { ...end, message: freeze({ ...end.message, callId }) }
  }
}

/** What becomes of a call that was made before its model call stood. */
export class Fate {
  /** Resolves when it is committed or discarded: at once if it was never provisional. */
  readonly decided: Promise<void>
  #committed: { readonly at: number; readonly modelEnded: number | undefined } | undefined
  #discarded: DiscardCause | undefined
  #kept: RunStop | undefined
  #resolve: () => void = () => undefined

  constructor(isProvisional: boolean) {
    this.decided = new Promise((resolve) => {
      this.#resolve = resolve
    })
    if (!isProvisional) this.commit()
  }

  get isProvisional(): boolean {
    return !this.isCommitted && !this.#discarded
  }

  get isCommitted(): boolean {
    return this.#committed !== undefined
  }

  /** Why it was discarded, if it was. */
  get discarded(): DiscardCause | undefined {
    return this.#discarded
  }

  /** By what the run was stopped before it was decided: its checkpoint has the call as it was, and a resume decides. */
  get kept(): RunStop | undefined {
    return this.#kept
  }

  /** When it was committed, in `performance.now()`. */
  get committedAt(): number | undefined {
    return this.#committed?.at
  }

  /** When the stream of the attempt that stood with it ended, in `performance.now()`. */
  get modelEnded(): number | undefined {
    return this.#committed?.modelEnded
  }

  /** Resolves when it is {@link decided}; throws the signal's reason if that aborts before. */
  async decidedBefore(signal: AbortSignal): Promise<void> {
    let unfollow = () => {}
    const aborted = new Promise<never>((_, reject) => {
      const abort = () => reject(signal.reason)
      unfollow = follow(signal, abort)
      if (signal.aborted) abort()
    })
    try {
      await Promise.race([this.decided, aborted])
    } finally {
      unfollow()
    }
  }

  /** Gives whether that has decided it: what was decided stays so. */
  commit(modelEnded?: number): boolean {
    if (!this.isProvisional) return false
    this.#committed = { at: performance.now(), modelEnded }
    this.#resolve()
    return true
  }

  /** The same. */
  discard(cause: DiscardCause): boolean {
    if (!this.isProvisional) return false
    this.#discarded = cause
    this.#resolve()
    return true
  }

  /** `undefined`: the run has stopped for good. */
  keep(stop: RunStop | undefined): void {
    if (this.isProvisional) this.#kept = stop
  }

  /** Its checkpoint has come to nothing. Gives whether a resume was to decide. */
  forsake(): boolean {
    const wasKept = this.#kept !== undefined
    this.#kept = undefined
    return wasKept
  }
}
