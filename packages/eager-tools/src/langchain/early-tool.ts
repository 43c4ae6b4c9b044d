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
  readonly what: string

  constructor(what: string) {
    super(`${what} is not known before the model has answered`)
    this.what = what
  }
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
  return async (_, { id, written, signal, taken, decline, failed }) => {
    const events = heldToolEvents(config.callbacks, taken)
    const declined = () => {
      events.drop()
      decline()
    }
    const early = toolConfig({ ...config, ...events.config }, { id, signal, decline: declined })
    const call = { name: tool.name, args: written, id, type: 'tool_call' }
    const output = await AsyncLocalStorageProviderSingleton.runWithConfig(early, () => tool.invoke(call, early), true)
    if (isObject(output)) madeFor.set(output, id)
    if (ToolMessage.isInstance(output) && output.status === 'error')
      failed(new Error(`${tool.name} returned an error message`))
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
  const missing = (what: string) =>
    trap(() => {
      decline()
      throw new NotYetKnownError(what)
    })
  const configurable = Object.entries(config.configurable ?? {}).map(([key, value]) => [
    key,
    key.startsWith('__pregel') && typeof value !== 'string' ? missing(key) : value,
  ])
  const early = {
    ...config,
    configurable: Object.fromEntries(configurable),
    signal,
    ...Object.fromEntries(['writer', 'interrupt', 'executionInfo'].map((key) => [key, missing(key)])),
  }
  return { ...early, config: early, toolCallId: id, state: missing('state') }
}

/** Any use of the returned value calls `caught`. Passing it on is allowed. */
function trap(caught: () => never): unknown {
  return new Proxy(() => undefined, new Proxy({}, { get: () => caught }))
}
