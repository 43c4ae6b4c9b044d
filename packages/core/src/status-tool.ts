/** What an agent with background tools offers its model: to ask how such a call is doing (I16). */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { UnknownCallError } from './errors.ts'
import { textOf } from './message.ts'
import { stateOf } from './run-view.ts'
import type { Tool, ToolContext, ToolSchema } from './tool.ts'

/** The tools of an agent, and this one if any of them works in the background. */
export function withStatusTool(tools: readonly Tool[]): readonly Tool[] {
  const isNeeded = tools.some(({ background }) => background) && !tools.includes(statusTool)
  return isNeeded ? [...tools, statusTool] : tools
}

interface StatusRequest {
  readonly callId: string
}

const schema: ToolSchema<StatusRequest> = {
  '~standard': {
    version: 1,
    vendor: 'meanwhile',
    validate: checkRequest,
    jsonSchema: { input: requestSchema, output: requestSchema },
  },
}

const statusTool: Tool = {
  name: 'tool_status',
  description: 'How a background call is doing: its state, its progress, and its result once it has one.',
  input: schema,
  execute: (input, context) => statusOf(input as StatusRequest, context),
}

function statusOf({ callId }: StatusRequest, { run }: ToolContext): object {
  const { background } = stateOf(run as NonNullable<typeof run>)
  const entry = background.get(callId)
  if (!entry) throw new UnknownCallError(callId)
  const { state, progress, message } = entry.status.read()
  const result = background.read(callId)
  return {
    callId,
    state,
    ...(progress !== undefined && { progress }),
    ...(message !== undefined && { message }),
    ...(result && { result: textOf(result) }),
  }
}

function checkRequest(value: unknown): StandardSchemaV1.Result<StatusRequest> {
  const isRequest = typeof value === 'object' && value !== null && 'callId' in value
  return isRequest && typeof value.callId === 'string'
    ? { value: { callId: value.callId } }
    : { issues: [{ message: 'must be a text', path: ['callId'] }] }
}

function requestSchema(): Record<string, unknown> {
  const callId = { type: 'string', description: 'As the call was answered when it began.' }
  return { type: 'object', properties: { callId }, required: ['callId'], additionalProperties: false }
}
