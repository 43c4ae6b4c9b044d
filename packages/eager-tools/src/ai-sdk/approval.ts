/** A `toolApproval` for the AI SDK that notes for which calls the SDK calls it, and answers as the SDK would without it. */

import { TypeValidationError } from 'ai'
import { own } from './own.ts'
import type { ApprovalAsked, SdkTool } from './sdk.ts'
import { valid } from './valid.ts'

/**
 * The SDK calls it once for each call that it would execute, while the response streams. `given`: the `toolApproval` of
 * the user. If that is an object, its entries are also members of the function, so that a copy of it has them. `note`:
 * called when the status is known, with whether the SDK executes the call without an approval.
 */
export function notedApproval(
  given: unknown,
  note: (asked: ApprovalAsked, isFree: boolean) => void,
): (asked: ApprovalAsked) => Promise<unknown> {
  const approval = async (asked: ApprovalAsked) => {
    const status = await statusOf(given, asked)
    const type = Object(status).type ?? status
    note(asked, type === undefined || type === 'not-applicable')
    return status
  }
  if (typeof given === 'object' && given !== null) {
    for (const [name, value] of Object.entries(given))
      Object.defineProperty(approval, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return approval
}

/** What the SDK decides about a call. Without an entry in the options the tool itself decides. */
async function statusOf(given: unknown, asked: ApprovalAsked): Promise<unknown> {
  if (typeof given === 'function') return given(asked)
  const { toolCall, messages, runtimeContext } = asked
  const { toolCallId, toolName, input } = toolCall
  const tool = own(asked.tools, toolName)
  const context = () => checkedContext(toolName, own(asked.toolsContext, toolName), tool)
  const entry = own(given, toolName)
  if (entry !== undefined && entry !== null) {
    if (typeof entry !== 'function') return entry
    return entry(input, { toolCallId, messages, toolContext: await context(), runtimeContext })
  }
  const needs = tool?.needsApproval
  const isNeeded =
    typeof needs === 'function'
      ? await needs.call(tool, input, { toolCallId, messages, context: await context() })
      : needs
  return isNeeded ? 'user-approval' : undefined
}

async function checkedContext(entityName: string, value: unknown, tool: SdkTool | undefined): Promise<unknown> {
  try {
    return await valid(tool?.contextSchema, value)
  } catch (cause) {
    throw TypeValidationError.wrap({ value, cause, context: { field: 'tool context', entityName } })
  }
}
