/** What a run is asked about a call by its id, whatever step made it: {@link Run.stood}, `cancelTool`, `toolStatus`. */

import type { PathPart } from '../events.ts'
import type { ToolStatus } from '../execution/tool-status.ts'
import type { RunState } from '../run/run.ts'
import { ToolDiscardedError, UnknownCallError } from '../tool-errors.ts'
import type { CallEntry } from './call-entry.ts'
import type { CallsAtWork } from './calls-at-work.ts'
import type { Ledger } from './ledger.ts'
import { stood, type Waiting } from './stood.ts'

interface Parts {
  readonly run: RunState
  readonly ledger: Ledger
  readonly atWork: CallsAtWork
}

export class KnownCalls {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** {@link Run.stood} */
  async stood(callId: string, waiting: Waiting): Promise<string> {
    const { ledger } = this.#parts
    const past = ledger.past(callId)
    if (past?.discarded) throw new ToolDiscardedError(past.call.id, past.discarded)
    if (past) return past.id
    const entry = ledger.get(callId)
    if (!entry) throw new UnknownCallError(callId)
    await stood(this.#parts.run, entry, waiting)
    return entry.id
  }

  /** {@link Run.cancelTool} */
  cancel(callId: string, [caller, ...rest]: readonly PathPart[] = []): boolean {
    const { run, ledger } = this.#parts
    const id = caller?.callId ?? callId
    const entry = this.#get(id)
    if (!entry && ledger.past(id)) return false
    if (!entry) throw new UnknownCallError(id)
    if (caller) return run.innerRuns.of(entry)?.calls.known.cancel(callId, rest) ?? false
    // Of a background call the wraps may still be at work, too.
    const call = ledger.get(id)
    const isCallCancelled = call !== undefined && call !== entry && call.cancel(run.config.grace)
    return entry.cancel(run.config.grace) || isCallCancelled
  }

  /** {@link Run.toolStatus} */
  status(callId: string, [caller, ...rest]: readonly PathPart[] = []): ToolStatus | undefined {
    const { run, ledger, atWork } = this.#parts
    const entry = this.#get(caller?.callId ?? callId)
    if (caller) return entry && run.innerRuns.of(entry)?.calls.known.status(callId, rest)
    const made = entry ?? ledger.past(callId)
    return made && atWork.remembered(made.status)
  }

  /** One of this step, or whose work goes on behind it. */
  #get(callId: string): CallEntry | undefined {
    const { run, ledger } = this.#parts
    return run.background.get(callId) ?? ledger.get(callId)
  }
}
