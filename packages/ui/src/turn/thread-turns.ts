/** Reads the turns of a thread from its stored state, with the same state machine as their events. */

import type { ThreadState, TurnState } from '@meanwhile/threads'
import { type ReadEvent, TurnReader } from './turn-reader.ts'
import type { TurnUpdate } from './turn-update.ts'

/** A turn, and the updates for a reader that joins now. */
export interface TurnOfThread {
  readonly turn: TurnState
  readonly updates: readonly TurnUpdate[]
}

/** In the order of the thread. A running turn has only its complete messages. */
export function turnsOfThread(state: ThreadState): readonly TurnOfThread[] {
  const events = new Map(state.turns.map(({ id }): [string, ReadEvent[]] => [id, []]))
  const starts = new Map(state.turns.map(({ id, messageId }) => [messageId, id]))
  const inside = new Map<string, ReadEvent[]>()
  for (const { after, callId, cards } of state.inside ?? []) {
    const told = inside.get(after) ?? []
    inside.set(after, told)
    told.push({ type: 'inside', callId, cards })
  }
  for (const { after, message } of state.background ?? []) {
    const told = inside.get(after) ?? []
    inside.set(after, told)
    const { callId, name: toolName } = message
    told.push({ type: 'background-end', runId: '', step: 0, callId, toolName, message })
  }
  for (const { id: messageId, turn, message, display } of state.messages) {
    const isStart = message.role === 'user' && starts.get(messageId) === turn
    const shown = { messageId, ...(display !== undefined && { display }) }
    events
      .get(turn)
      ?.push(
        isStart ? { type: 'turn-start', turn, message, ...shown } : { type: 'message', message, runId: turn, ...shown },
        ...(inside.get(messageId) ?? []),
      )
  }
  return state.turns.map((turn) => {
    const reader = new TurnReader()
    const told = [...(events.get(turn.id) ?? []), ...endOf(turn, state)]
    return { turn, updates: told.flatMap((event) => reader.read(event)) }
  })
}

function endOf({ status, error, usage }: TurnState, { interrupts, settled }: ThreadState): readonly ReadEvent[] {
  if (status === 'waiting') return [{ type: 'turn-waiting', interrupts, settled }]
  if (status === 'completed' || status === 'stopped' || status === 'failed')
    return [{ type: 'turn-end', status, ...(error && { error }), ...(usage && { usage }) }]
  return []
}
