/** Who asks for the calls of the model call at work: its attempts, and whether calls of theirs may still start. */

import type { Context } from '@opentelemetry/api'

/** A model attempt; or a wrap that answers itself, which is number 0 and has no context. */
export interface Asker {
  readonly attempt: number
  /** In which the attempt's span is active. */
  readonly context: Context | undefined
  /** When its stream ended, in `performance.now()`; absent while it goes on. */
  ended?: number
  /** It failed, or a wrap left it: no call of it starts any more. */
  over?: boolean
}

export class Askers {
  /** Whether calls may still be let go of: the model call has neither stood nor failed. */
  open = false
  readonly #byCall: Map<string, Asker> = new Map()
  readonly #byAttempt: Map<number, Asker> = new Map()

  /** A model call begins: nobody asks for what the one before it has asked for. */
  renew(): void {
    this.open = true
    this.#byCall.clear()
    this.#byAttempt.clear()
  }

  /** Gives whether nobody has announced the call before: the first who does counts. */
  announced(callId: string, attempt: number, context?: Context): boolean {
    if (this.#byCall.has(callId)) return false
    const asker = this.#byAttempt.get(attempt) ?? { attempt, context }
    this.#byAttempt.set(attempt, asker)
    this.#byCall.set(callId, asker)
    return true
  }

  of(callId: string): Asker | undefined {
    return this.#byCall.get(callId)
  }

  attempt(attempt: number): Asker | undefined {
    return this.#byAttempt.get(attempt)
  }

  /** The ids of its calls. */
  callsOf(asker: Asker): string[] {
    return [...this.#byCall].flatMap(([callId, by]) => (by === asker ? [callId] : []))
  }

  mayStart(asker: Asker): boolean {
    return this.open && !asker.over
  }
}
