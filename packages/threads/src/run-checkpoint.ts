/** Reads the parts of a run's checkpoint that threads use. */

import { hasFinalAnswer, type Json, type Message, type UserMessage } from '@meanwhile/core'
import type { TurnRecord } from './thread-store.ts'

export interface RunCheckpoint {
  /** The history of the run. */
  readonly messages: readonly Message[]
  /** Messages that were sent to the run and that no step has read. */
  readonly sent: readonly UserMessage[]
  /** The questions that the run waits for. */
  readonly interrupts: readonly { readonly id: string }[]
  /** Whether the final answer is accepted. Then the run cannot be closed, and a resume returns its result. */
  readonly hasFinalAnswer: boolean
}

/** Returns the parts of a checkpoint. A part that is damaged or missing is read as an empty list. */
export function readCheckpoint(checkpoint: unknown): RunCheckpoint | undefined {
  if (checkpoint === undefined) return undefined
  const { messages, sent, interrupts } = Object(checkpoint)
  return {
    messages: Array.isArray(messages) ? messages : [],
    sent: Array.isArray(sent) ? sent : [],
    interrupts: Array.isArray(interrupts) ? interrupts : [],
    hasFinalAnswer: hasFinalAnswer(checkpoint),
  }
}

/** Returns the stored answers of the turn to questions that the run still waits for. */
export function openAnswers({ interrupts }: RunCheckpoint, { answers = {} }: TurnRecord): Record<string, Json> {
  const asked = new Set(interrupts.map(({ id }) => id))
  return Object.fromEntries(Object.entries(answers).filter(([id]) => asked.has(id)))
}
