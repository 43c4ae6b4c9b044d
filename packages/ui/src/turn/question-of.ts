import type { PendingInterrupt } from '@meanwhile/core'
import { isRecord } from '../is-record.ts'
import type { Question, QuestionKind } from './turn-update.ts'

export function questionOf(pending: PendingInterrupt): Question {
  const { id, address, payload, answerSchema } = pending
  const [outermost] = address.flatMap((part) => ('callId' in part ? [part] : []))
  return {
    id,
    kind: kindOf(pending),
    payload,
    ...(answerSchema && { answerSchema }),
    ...(outermost && { callId: outermost.callId, toolName: outermost.tool }),
  }
}

/** The asker decides first, then the payload: a tool may ask a question with the same payload as another. */
function kindOf({ address, payload }: PendingInterrupt): QuestionKind {
  const calls = address.filter((part) => 'callId' in part)
  const asker = address.at(-1)
  if (!asker || calls.length === 0 || !isRecord(payload)) return 'other'
  if ('middleware' in asker)
    return asker.middleware === 'approve' && typeof payload.tool === 'string' ? 'approval' : 'other'
  if (calls.length > 1 || !('callId' in asker)) return 'other'
  return payload.type === 'tool-call' && payload.id === asker.callId && payload.name === asker.tool
    ? 'client-call'
    : 'other'
}
