/** Finds the last steps of a history, which middleware that shortens it does not change. */

import type { Message } from '@meanwhile/core'

/** The index at which the last so many steps begin; each step begins with the message that made its calls. */
export function startOfLast(messages: readonly Message[], steps: number): number {
  let start = messages.length
  for (let step = 0; step < steps && start > 0; step++)
    start = Math.max(
      0,
      messages.findLastIndex((message, place) => place < start && message.role === 'assistant'),
    )
  return start
}
