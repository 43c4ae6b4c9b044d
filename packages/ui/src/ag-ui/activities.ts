/** What a client sees of calls that are running. It is not part of the conversation: a client does not send it back. */

import { outputShown, type Present } from '../present.ts'
import type { TurnUpdate } from '../turn/turn-update.ts'
import type { AgUiEvent } from './wire.ts'

type ProgressUpdate = TurnUpdate & { readonly type: 'call-entered' | 'call-progress' | 'call-settled' }
type ResultUpdate = TurnUpdate & { readonly type: 'call-result' }

/** The type of the activities that this package sends. */
export const PROGRESS = 'tool-progress'

/** `toolCallId` of its methods: the AG-UI id of the call. */
export class Activities {
  readonly #present: Present
  /** The last progress of each call in the open step. */
  readonly #last = new Map<string, ProgressUpdate>()
  /** The activities of background calls whose work is running, by the AG-UI ids of the calls. */
  readonly #running = new Map<string, AgUiEvent>()

  constructor(present: Present) {
    this.#present = present
  }

  /** The activities of the background work that is running. */
  get running(): readonly AgUiEvent[] {
    return [...this.#running.values()]
  }

  /** Returns what to send for the progress of a call. */
  progress(update: ProgressUpdate, toolCallId: string): readonly AgUiEvent[] {
    // It is repeated when the call is committed, and the client still has it.
    if (this.#last.get(update.callId) === update) return []
    this.#last.set(update.callId, update)
    // AG-UI has no event for it.
    if (update.type !== 'call-progress')
      return [{ type: 'CUSTOM', name: 'tool-state', value: { toolCallId, ...stateIn(update) } }]
    const { toolName, callId, progress } = update
    const event = activity(
      toolCallId,
      toolName,
      outputShown(this.#present, progress, { toolName, callId, isProgress: true }),
    )
    if (this.#running.has(toolCallId)) this.#running.set(toolCallId, event)
    return [event]
  }

  /** A call has a result. Background work that has begun is an activity until it ends: returns it, to be sent after the result. */
  result({ message: { name }, isRunning }: ResultUpdate, toolCallId: string): AgUiEvent | undefined {
    this.#running.delete(toolCallId)
    if (!isRunning) return undefined
    const event = activity(toolCallId, name, {})
    this.#running.set(toolCallId, event)
    return event
  }

  endStep(): void {
    this.#last.clear()
  }

  endTurn(): void {
    this.#running.clear()
  }
}

function activity(toolCallId: string, toolCallName: string, progress: unknown): AgUiEvent {
  const content = { toolCallId, toolCallName, progress }
  return { type: 'ACTIVITY_SNAPSHOT', messageId: `${toolCallId}-progress`, activityType: PROGRESS, content }
}

function stateIn(update: ProgressUpdate & { readonly type: 'call-entered' | 'call-settled' }) {
  return update.type === 'call-entered'
    ? { state: 'running', isEarly: update.isEarly }
    : { state: 'settled', isEarly: true }
}
