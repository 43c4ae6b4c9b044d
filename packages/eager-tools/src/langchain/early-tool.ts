/** Executes a tool before its node does, with everything that is known by then. */

import { ToolMessage } from '@langchain/core/messages'
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import { interopParseAsync, isInteropZodSchema } from '@langchain/core/utils/types'
import type { EarlyTool } from '../host/host-tool.ts'
import { earlyConfig } from './early-config.ts'
import { heldToolEvents } from './held-tool-events.ts'
import { type AgentTool, isObject, type NodeConfig } from './library.ts'

/**
 * The input that the tool's function receives. LangChain validates only Zod schemas here; other schemas do not change
 * the input.
 */
export async function checkedInput({ schema }: AgentTool, args: unknown): Promise<unknown> {
  return isInteropZodSchema(schema) ? interopParseAsync(schema, args) : args
}

/**
 * Whether calls of a tool never start early: it has callbacks of its own, which would be called too early, its tools are
 * found by a search, or its function is in the browser.
 */
export function mustStayLate(tool: AgentTool): boolean {
  const { callbacks, defaultConfig, extras, metadata, verbose } = tool
  return Boolean(callbacks || defaultConfig?.callbacks || extras?.defer_loading || metadata?.headlessTool || verbose)
}

/** The id of the call that a result was made for. */
const madeFor = new WeakMap<object, string | undefined>()

/** `config`: that of the node that calls the model. */
export function startOf(tool: AgentTool, config: NodeConfig): EarlyTool['start'] {
  return async (_, call) => {
    const { id, written, signal } = call
    const events = heldToolEvents(config.callbacks, call)
    const decline = (member: string) => {
      events?.drop()
      call.decline(member)
    }
    const early = earlyConfig({ ...config, ...events?.config }, { id, signal, decline })
    const asked = { name: tool.name, args: written, id, type: 'tool_call' }
    const output = await AsyncLocalStorageProviderSingleton.runWithConfig(early, () => tool.invoke(asked, early))
    if (isObject(output)) madeFor.set(output, id)
    if (ToolMessage.isInstance(output) && output.status === 'error')
      call.failed(new Error(`${tool.name} returned an error message`))
    return output
  }
}

/**
 * Adapts the result of a call that was made with another id, in an attempt that failed. `undefined`: it is unknown
 * where the result contains the id.
 */
export function withId(output: unknown, id: string | undefined): { readonly output: unknown } | undefined {
  if (!isObject(output) || madeFor.get(output) === id) return { output }
  if (!ToolMessage.isInstance(output)) return undefined
  return { output: new ToolMessage({ ...output.lc_kwargs, content: output.content, tool_call_id: id ?? '' }) }
}
