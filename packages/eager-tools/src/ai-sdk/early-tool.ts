/** How a tool of the AI SDK starts early. */

import type { Declared } from '../host/declared.ts'
import type { EarlyTool } from '../host/host-tool.ts'
import { own } from './own.ts'
import type { SdkOptions, SdkTool } from './sdk.ts'
import type { Step } from './steps.ts'
import { valid } from './valid.ts'

/** How a tool starts early in a step, with everything that the loop would pass to it. */
export function earlyTool(
  name: string,
  tool: SdkTool,
  declared: Declared,
  step: Step,
  timeout: SdkOptions['timeout'],
): EarlyTool | undefined {
  const effect = declared.get(name)
  if (!effect) return undefined
  return {
    ...effect,
    mayStart: (call) => step.mayStart(name, call),
    check: (written) => valid(tool.inputSchema, written),
    context: () => valid(tool.contextSchema, own(step.toolsContext, name)),
    start: (input, { id, signal, context }) =>
      tool.execute?.(input, {
        toolCallId: id,
        messages: step.messages,
        abortSignal: limited(signal, timeoutOf(timeout, name)),
        context,
        experimental_sandbox: step.sandbox,
      }),
  }
}

function timeoutOf(timeout: SdkOptions['timeout'], name: string): number | undefined {
  return typeof timeout === 'object' ? (timeout.tools?.[`${name}Ms`] ?? timeout.toolMs) : undefined
}

function limited(signal: AbortSignal, ms: number | undefined): AbortSignal {
  return ms === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(ms)])
}
