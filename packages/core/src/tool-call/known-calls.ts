/** What a run is asked about a call by its id, whatever step made it: {@link Run.stood}, `cancelTool`, `toolStatus`. */

import type { ToolStatus } from '../execution/tool-status.ts'
import type { RunState } from '../run/run.ts'
import { ToolDiscardedError, UnknownCallError } from '../tool-errors.ts'
import type { CallsAtWork } from './calls-at-work.ts'
import type { Ledger } from './ledger.ts'

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
  async stood(callId: string): Promise<string> {
    const { ledger } = this.#parts
    const past = ledger.past(callId)
    if (past?.discarded) throw new ToolDiscardedError(past.call.id, past.discarded)
    if (past) return past.id
    const entry = ledger.get(callId)
    if (!entry) throw new UnknownCallError(callId)
    await entry.fate.stood(entry.signal)
    return entry.id
  }

  /** {@link Run.cancelTool} */
  cancel(callId: string): boolean {
    const { run, ledger } = this.#parts
    const entry = run.background.get(callId) ?? ledger.get(callId)
    if (!entry && ledger.past(callId)) return false
    if (!entry) throw new UnknownCallError(callId)
    return entry.cancel(run.config.grace)
  }

  /** {@link Run.toolStatus} */
  status(callId: string): ToolStatus | undefined {
    const { run, ledger, atWork } = this.#parts
    const made = run.background.get(callId) ?? ledger.get(callId) ?? ledger.past(callId)
    return made && atWork.remembered(made.status)
  }
}
