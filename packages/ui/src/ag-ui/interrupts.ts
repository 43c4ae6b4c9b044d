/** Questions of a turn as interrupts of AG-UI, and what a client answers. */

import type { Json } from '@meanwhile/core'
import { isRecord } from '../is-record.ts'
import type { Question } from '../turn/turn-update.ts'
import type { AgUiInterrupt, AgUiResume } from './wire.ts'

export function interruptOf(question: Question, toolCallId: string | undefined): AgUiInterrupt {
  const { id, kind, payload, answerSchema } = question
  const message = promptOf(question)
  const responseSchema = kind === 'approval' ? APPROVAL : answerSchema
  return {
    id,
    reason: kind === 'other' ? 'input_required' : 'tool_call',
    ...(message !== undefined && { message }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(responseSchema && { responseSchema }),
    metadata: { payload },
  }
}

/** The answer to the question that a client gives with this entry; undefined if it gives none, and the turn is to be stopped. */
export function answerOf({ status, payload = null }: AgUiResume, question: Question): Json | undefined {
  const asksApproval = question.kind === 'approval'
  if (status === 'cancelled') return asksApproval ? { decision: 'deny' } : undefined
  if (!asksApproval || !isRecord(payload) || typeof payload.approved !== 'boolean') return payload
  const { approved, editedArgs, reason } = payload
  if (!approved) return { decision: 'deny', ...(reason !== undefined && { reason }) }
  return editedArgs === undefined ? { decision: 'allow' } : { decision: 'edit', input: editedArgs }
}

/** What a client says that its tool has returned: JSON, if it is that and no text is asked for. */
export function resultOf(content: string, { answerSchema }: Question): Json {
  if (answerSchema?.type === 'string') return content
  try {
    return JSON.parse(content)
  } catch {
    return content
  }
}

/** As AG-UI recommends it for calls whose input may be edited. */
const APPROVAL = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string', description: 'Why it was not approved: the model reads it.' },
    editedArgs: { type: 'object', description: 'The whole input that the call is to run with instead.' },
  },
  required: ['approved'],
}

function promptOf({ kind, payload }: Question): string | undefined {
  if (typeof payload === 'string') return payload
  const { tool, question, message } = isRecord(payload) ? payload : {}
  if (kind === 'approval' && typeof tool === 'string') return `May ${tool} run?`
  return [question, message].find((text) => typeof text === 'string')
}
