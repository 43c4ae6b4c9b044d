/** Which tools of the AI SDK may start early. */

import { own } from './own.ts'
import type { SdkOptions, SdkTool } from './sdk.ts'

/**
 * Whether calls of a tool may start early at all. They may not if the SDK does something between the model's call and
 * the execution: functions for approval and refinement must be called only once, with the final call, and the
 * `onInput…` functions before the execution. `approval`: the setting.
 */
export function mayBeEarly(
  name: string,
  tool: SdkTool,
  options: SdkOptions,
  approval: readonly string[] = [],
): boolean {
  if (approval.includes(name) || typeof tool.execute !== 'function' || isBound(tool)) return false
  const { toolApproval, experimental_refineToolInput: refined } = options
  if (typeof toolApproval === 'function') return false
  const status = own(toolApproval, name)
  const { needsApproval, onInputStart, onInputDelta, onInputAvailable, deferLoading } = tool
  return (
    (status === undefined || status === null || status === 'not-applicable') &&
    !own(refined, name) &&
    !needsApproval &&
    !(onInputStart || onInputDelta || onInputAvailable) &&
    !deferLoading
  )
}

const TOOL_SEARCH = Symbol.for('vercel.ai.toolSearch')

/** Whether the SDK may execute another function in the place of `execute`. */
function isBound(tool: SdkTool): boolean {
  return tool.experimental_toolCaller !== undefined || Reflect.get(tool, TOOL_SEARCH) === true
}
