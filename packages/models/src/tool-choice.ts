/** Which tools a request offers, and whether it forces one of them. */

import type { ModelRequest, ToolDefinition } from '@meanwhile/core'
import { mayBeForced, type Target } from './families.ts'

interface Offer {
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice: ModelRequest['toolChoice']
}

/**
 * A choice that the model or its reasoning does not allow is not forced. If it names a tool, only that tool is offered,
 * so that the model can call no other.
 */
export function offeredTools({ tools, toolChoice, settings }: ModelRequest, target: Target): Offer {
  if (toolChoice === 'auto' || toolChoice === 'none' || mayBeForced(target, settings)) return { tools, toolChoice }
  const offered = toolChoice === 'required' ? tools : tools.filter(({ name }) => name === toolChoice.tool)
  return { tools: offered, toolChoice: 'auto' }
}
