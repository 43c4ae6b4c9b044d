/** Questions of a turn as interrupts of AG-UI, and what a client answers. */

import type { Json } from '@meanwhile/core'
import { isRecord } from '../is-record.ts'
import type { Question } from '../turn/turn-update.ts'
import type { AgUiInterrupt, AgUiResume } from './wire.ts'

/** Of a tool that the client runs: its call is the question, and its result the answer. */
export function isClientCall({ payload, callId, isOfCall }: Question): boolean {
  return isOfCall && callId !== undefined && isRecord(payload) && payload.type === 'tool-call' && payload.id === callId
}

export function interruptOf(question: Question, toolCallId: string | undefined): AgUiInterrupt {
  const { id, payload, answerSchema } = question
  const tool = toolToApprove(question)
  const message = tool === undefined ? promptOf(payload) : `May ${tool} run?`
  const responseSchema = tool === undefined ? answerSchema : APPROVAL
  return {
    id,
    reason: tool !== undefined || isClientCall(question) ? 'tool_call' : 'input_required',
    ...(message !== undefined && { message }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(responseSchema && { responseSchema }),
    metadata: { payload },
  }
}

/** The answer to the question that a client gives with this entry; undefined if it gives none, and the turn is to be stopped. */
export function answerOf({ status, payload = null }: AgUiResume, question: Question | undefined): Json | undefined {
  const asksApproval = question !== undefined && toolToApprove(question) !== undefined
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

/** The tool that the middleware `approve` asks about; undefined if something else asks. */
function toolToApprove({ payload, callId }: Question): string | undefined {
  if (callId === undefined || !isRecord(payload) || !('input' in payload)) return undefined
  return typeof payload.tool === 'string' && typeof payload.callId === 'string' ? payload.tool : undefined
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

function promptOf(payload: Json): string | undefined {
  if (typeof payload === 'string') return payload
  const { question, message } = isRecord(payload) ? payload : {}
  return [question, message].find((text) => typeof text === 'string')
}
