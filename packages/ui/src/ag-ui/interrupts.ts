/** Converts questions of a turn to AG-UI interrupts, and the answers of a client to answers of the turn. */

import type { Json, JsonSchema } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import { shownQuestion } from '../approvals.ts'
import { storableJson } from '../body.ts'
import type { Present } from '../present.ts'
import type { Question } from '../turn/turn-update.ts'
import type { AgUiInterrupt, AgUiResume } from './wire.ts'

export function interruptOf(question: Question, toolCallId: string | undefined, present: Present): AgUiInterrupt {
  const { id, kind, payload, answerSchema } = shownQuestion(question, present)
  const message = promptOf(question)
  const responseSchema = kind === 'approval' ? approvalSchema(payload, present) : answerSchema
  return {
    id,
    reason: kind === 'other' ? 'input_required' : 'tool_call',
    ...(message !== undefined && { message }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(responseSchema && { responseSchema }),
    metadata: { payload },
  }
}

/** Returns the answer in this entry to the question; undefined if the entry has no answer and the turn must stop. */
export function answerOf({ status, payload = null }: AgUiResume, question: Question): Json | undefined {
  const asksApproval = question.kind === 'approval'
  if (status === 'cancelled') return asksApproval ? { decision: 'deny' } : undefined
  if (!asksApproval || !isRecord(payload) || typeof payload.approved !== 'boolean') return payload
  const { approved, editedArgs, reason } = payload
  if (!approved) return { decision: 'deny', ...(reason !== undefined && { reason }) }
  return editedArgs === undefined ? { decision: 'allow' } : { decision: 'edit', input: editedArgs }
}

/** The output of a client's tool: parsed as JSON if possible, unless the schema asks for a text. */
export function resultOf(content: string, { answerSchema }: Question): Json {
  if (answerSchema?.type === 'string') return content
  try {
    return storableJson(JSON.parse(content), 'content')
  } catch {
    return content
  }
}

/** The form that AG-UI recommends for calls, with `editedArgs` if their input may be edited. */
function approvalSchema(payload: Json, { edits = false }: Present): JsonSchema {
  const { decisions } = isRecord(payload) ? payload : {}
  const mayEdit = edits && (!Array.isArray(decisions) || decisions.includes('edit'))
  return {
    type: 'object',
    properties: {
      approved: { type: 'boolean' },
      reason: { type: 'string', description: 'The reason for a denial: the model reads it.' },
      ...(mayEdit && { editedArgs: { type: 'object', description: 'The complete input to use instead.' } }),
    },
    required: ['approved'],
  }
}

function promptOf({ kind, payload }: Question): string | undefined {
  if (typeof payload === 'string') return payload
  const { tool, question, message } = isRecord(payload) ? payload : {}
  if (kind === 'approval' && typeof tool === 'string') return `May ${tool} run?`
  return [question, message].find((text) => typeof text === 'string')
}
