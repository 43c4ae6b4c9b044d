import { isDecision } from './decisions.ts'
import type { ThreadEventBody } from './thread-events.ts'

/** Whether the event stays stored. All others are deleted when their step ends. */
export function isKept(event: ThreadEventBody): boolean {
  if (isDecision(event)) return true
  if ('path' in event && event.path) return false
  return KEPT.has(event.type)
}

const KEPT: ReadonlySet<string> = new Set([
  'turn-start',
  'turn-resumed',
  'turn-end',
  'message',
  'history-replaced',
  'inside',
  'background-end',
])
