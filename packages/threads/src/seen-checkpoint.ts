/** What threads look at in the checkpoint of a run. */

import { hasFinalAnswer, type Json, type Message, type UserMessage } from '@meanwhile/core'
import type { TurnRecord } from './thread-store.ts'

export interface SeenCheckpoint {
  readonly messages: readonly Message[]
  /** Messages that were sent to the run, and that no step has read. */
  readonly sent: readonly UserMessage[]
  /** What it waits for. */
  readonly interrupts: readonly { readonly id: string }[]
  /** Such a run cannot be closed, and a resume gives its result. */
  readonly hasFinalAnswer: boolean
}

/** A damaged checkpoint gives what can be read of it: the agent refuses it, and says what is wrong. */
export function seenIn(checkpoint: unknown): SeenCheckpoint | undefined {
  if (checkpoint === undefined) return undefined
  const { messages, sent, interrupts } = Object(checkpoint)
  return {
    messages: Array.isArray(messages) ? messages : [],
    sent: Array.isArray(sent) ? sent : [],
    interrupts: Array.isArray(interrupts) ? interrupts : [],
    hasFinalAnswer: hasFinalAnswer(checkpoint),
  }
}

/** The answers of the turn that the checkpoint still waits for. */
export function answersTo({ interrupts }: SeenCheckpoint, { answers = {} }: TurnRecord): Record<string, Json> {
  const asked = new Set(interrupts.map(({ id }) => id))
  return Object.fromEntries(Object.entries(answers).filter(([id]) => asked.has(id)))
}
