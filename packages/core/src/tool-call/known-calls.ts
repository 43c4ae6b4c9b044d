/** What a run is asked about a call by its id, whatever step made it: {@link Run.stood}, `cancelTool`, `toolStatus`. */

import type { PathPart } from '../events.ts'
import type { ToolStatus } from '../execution/tool-status.ts'
import { refused } from '../flow/turn.ts'
import type { RunState } from '../run/run.ts'
import { ToolDiscardedError, UnknownCallError } from '../tool-errors.ts'
import { CallEntry } from './call-entry.ts'
import type { CallTable, PastCall } from './call-table.ts'
import type { CallsAtWork } from './calls-at-work.ts'
import { stood, stoodAbove, type Waiting } from './stood.ts'

interface Parts {
  readonly run: RunState
  readonly table: CallTable
  readonly atWork: CallsAtWork
}

export class KnownCalls {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** {@link Run.stood} */
  async stood(callId: string, waiting: Waiting): Promise<string> {
    const made = this.#made(callId, waiting.call)
    if (!made) return refused(new UnknownCallError(callId))
    if (made instanceof CallEntry) {
      await stood(this.#parts.run, made, waiting)
      const above = stoodAbove(this.#parts.run, [made.signal, ...(waiting.signals ?? [])])
      if (above) await above
    } else if (made.discarded) throw new ToolDiscardedError(made.call.id, made.discarded)
    return made.id
  }

  /** {@link Run.cancelTool} */
  cancel(callId: string, [caller, ...rest]: readonly PathPart[] = [], within?: CallEntry): boolean {
    const { innerRuns, config } = this.#parts.run
    const { made, work = made } = this.#known(caller?.callId ?? callId, within)
    if (!work) throw new UnknownCallError(caller?.callId ?? callId)
    if (!(work instanceof CallEntry)) return false
    if (caller) return innerRuns.of(work)?.calls.known.cancel(callId, rest) ?? false
    // Of a background call the wraps may still be at work, too.
    const isCallCancelled = made instanceof CallEntry && made !== work && made.cancel(config.grace)
    return work.cancel(config.grace) || isCallCancelled
  }

  /** {@link Run.toolStatus} */
  status(callId: string, [caller, ...rest]: readonly PathPart[] = [], within?: CallEntry): ToolStatus | undefined {
    const { run, atWork } = this.#parts
    const { made, work = made } = this.#known(caller?.callId ?? callId, within)
    if (!caller) return work && atWork.remembered(work.status)
    return work instanceof CallEntry ? run.innerRuns.of(work)?.calls.known.status(callId, rest) : undefined
  }

  /** The call that an id means, and its work if that goes on behind it. */
  #known(callId: string, within: CallEntry | undefined): { made?: CallEntry | PastCall; work?: CallEntry } {
    const { background } = this.#parts.run
    const made = this.#made(callId, within)
    const work = made instanceof CallEntry ? background.of(made) : background.get(callId)
    return { ...(made && { made }), ...(work && { work }) }
  }

  /** Within a call an id means that call, one that it made, the same of the call that made it, and so on; else any call. */
  #made(callId: string, within: CallEntry | undefined): CallEntry | PastCall | undefined {
    const { table } = this.#parts
    for (let at = within; at; at = at.maker) {
      const made = at.id === callId || at.call.id === callId ? at : (table.get(callId, at) ?? table.past(callId, at))
      if (made) return made
    }
    return table.get(callId) ?? table.past(callId) ?? table.latest(callId)
  }
}
