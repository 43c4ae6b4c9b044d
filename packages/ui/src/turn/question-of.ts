import type { PendingInterrupt } from '@meanwhile/core'
import type { Question } from './turn-update.ts'

export function questionOf({ id, address, payload, answerSchema }: PendingInterrupt): Question {
  const calls = address.flatMap((part) => ('callId' in part ? [part] : []))
  const [outermost] = calls
  return {
    id,
    payload,
    ...(answerSchema && { answerSchema }),
    ...(outermost && { callId: outermost.callId, toolName: outermost.tool }),
    isOfCall: calls.length === 1,
  }
}
