/** Executes a tool before its node does, with everything that is known by then. */

import { ToolMessage } from '@langchain/core/messages'
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import { interopParseAsync, isInteropZodSchema } from '@langchain/core/utils/types'
import type { EarlyTool, StartedCall } from '../host/host-tool.ts'
import { heldToolEvents } from './held-tool-events.ts'
import { type AgentTool, isObject, type NodeConfig } from './library.ts'

/** A tool used something that exists only in the tools node. */
class NotYetKnownError extends Error {
  override readonly name = 'NotYetKnownError'
  override readonly message = 'the tool uses something that is not known before the model has answered'
}

/**
 * The input that the tool's function receives. LangChain validates only Zod schemas here; other schemas do not change
 * the input.
 */
export async function checkedInput({ schema }: AgentTool, args: unknown): Promise<unknown> {
  return isInteropZodSchema(schema) ? interopParseAsync(schema, args) : args
}

/** The id of the call that a result was made for. */
const madeFor = new WeakMap<object, string | undefined>()

/** `config`: that of the node that calls the model. */
export function startOf(tool: AgentTool, config: NodeConfig): EarlyTool['start'] {
  return async (_, call) => {
    const { id, written, signal } = call
    const events = heldToolEvents(config.callbacks, call)
    const decline = () => {
      events?.drop()
      call.decline()
    }
    const early = toolConfig({ ...config, ...events?.config }, { id, signal, decline })
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

/** The config that the tools node would pass, except for the members that belong to that node. */
function toolConfig(
  config: NodeConfig,
  { id, signal, decline }: Pick<StartedCall, 'id' | 'signal' | 'decline'>,
): object {
  const missing = trap(() => {
    decline()
    throw new NotYetKnownError()
  })
  const configurable: Record<string, unknown> = { ...config.configurable }
  for (const [key, value] of Object.entries(configurable))
    if (key.startsWith('__pregel') && typeof value !== 'string') configurable[key] = missing
  const early = { ...config, configurable, signal, writer: missing, interrupt: missing, executionInfo: missing }
  return { ...early, config: early, toolCallId: id, state: missing }
}

/** Any use of the returned value calls `caught`. Passing it on is allowed. */
function trap(caught: () => never): unknown {
  return new Proxy(() => undefined, new Proxy({}, { get: () => caught }))
}
