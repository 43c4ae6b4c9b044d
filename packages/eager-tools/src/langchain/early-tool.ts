/** Executes a tool before its node does, with everything that is known by then. */

import { ToolMessage } from '@langchain/core/messages'
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import type { EarlyTool } from '../host/host-tool.ts'
import { made } from './call-id.ts'
import { receiving } from './checked-input.ts'
import { earlyConfig } from './early-config.ts'
import { HeldCallbacks } from './held-callbacks.ts'
import type { AgentTool, NodeConfig } from './library.ts'

/**
 * Whether calls of a tool never start early: it has its own callbacks, which would be called too early, a search
 * loads it, or its function is in the browser.
 */
export function mustStayLate(tool: AgentTool): boolean {
  const { callbacks, defaultConfig, extras, metadata, verbose } = tool
  return Boolean(callbacks || defaultConfig?.callbacks || extras?.defer_loading || metadata?.headlessTool || verbose)
}

/** `config`: that of the node that calls the model. */
export function startOf(tool: AgentTool, config: NodeConfig): EarlyTool['start'] {
  return async (input, call) => {
    const { id, written, signal } = call
    const held = HeldCallbacks.hold(config, call)
    const decline = (member: string) => {
      held?.drop()
      call.decline(member)
    }
    const early = earlyConfig({ ...config, ...held?.config }, { id, signal, decline })
    if (held) held.early = early
    const asked = { name: tool.name, args: written, id, type: 'tool_call' }
    const checked = receiving(tool, { input, configurable: early.configurable })
    const output = await AsyncLocalStorageProviderSingleton.runWithConfig(early, () => checked.invoke(asked, early))
    made(output, id)
    if (ToolMessage.isInstance(output) && output.status === 'error')
      call.failed(new Error(`${tool.name} returned an error message`))
    return output
  }
}
