/** What a run is asked about a call by its id, whatever step made it: {@link Run.stood}, `cancelTool`, `toolStatus`. */

import type { PathPart } from '../events.ts'
import type { ToolStatus } from '../execution/tool-status.ts'
import type { RunState } from '../run/run.ts'
import { ToolDiscardedError, UnknownCallError } from '../tool-errors.ts'
import { CallEntry } from './call-entry.ts'
import type { CallsAtWork } from './calls-at-work.ts'
import type { Ledger, PastCall } from './ledger.ts'
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
    const made = this.#known(callId, waiting.call)
    if (!made) throw new UnknownCallError(callId)
    if (made instanceof CallEntry) await stood(this.#parts.run, made, waiting)
    else if (made.discarded) throw new ToolDiscardedError(made.call.id, made.discarded)
    return made.id
  }

  /** {@link Run.cancelTool} */
  cancel(callId: string, [caller, ...rest]: readonly PathPart[] = [], within?: CallEntry): boolean {
    const { run, ledger } = this.#parts
    const id = caller?.callId ?? callId
    const work = run.background.get(id)
    const made = work ?? this.#known(id, within)
    if (!made) throw new UnknownCallError(id)
    if (!(made instanceof CallEntry)) return false
    if (caller) return run.innerRuns.of(made)?.calls.known.cancel(callId, rest) ?? false
    // Of a background call the wraps may still be at work, too.
    const call = work && ledger.get(id)
    const isCallCancelled = call?.cancel(run.config.grace) ?? false
    return made.cancel(run.config.grace) || isCallCancelled
  }

  /** {@link Run.toolStatus} */
  status(callId: string, [caller, ...rest]: readonly PathPart[] = [], within?: CallEntry): ToolStatus | undefined {
    const { run, atWork } = this.#parts
    const id = caller?.callId ?? callId
    const made = run.background.get(id) ?? this.#known(id, within)
    if (!caller) return made && atWork.remembered(made.status)
    return made instanceof CallEntry ? run.innerRuns.of(made)?.calls.known.status(callId, rest) : undefined
  }

  /** What an id means within a call: that call, one that it made, the same of the call that made it, and so on; else any call. */
  #known(callId: string, within?: CallEntry): CallEntry | PastCall | undefined {
    const { ledger } = this.#parts
    for (let at = within; at; at = at.maker) {
      const made = at.id === callId || at.call.id === callId ? at : (ledger.get(callId, at) ?? ledger.past(callId, at))
      if (made) return made
    }
    return ledger.get(callId) ?? ledger.past(callId) ?? ledger.latest(callId)
  }
}
