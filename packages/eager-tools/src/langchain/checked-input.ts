/** The input that a tool's function receives: the tool checks it when it is executed, and it must be known before. */

import { DynamicStructuredTool, DynamicTool, StructuredTool, Tool } from '@langchain/core/tools'
import { interopParseAsync, isInteropZodSchema } from '@langchain/core/utils/types'
import type { AgentTool, NodeConfig } from './library.ts'

/** LangChain validates only Zod schemas here; other schemas do not change the input. */
export async function checkedInput({ schema }: AgentTool, args: unknown): Promise<unknown> {
  return isInteropZodSchema(schema) ? interopParseAsync(schema, args) : args
}

const OF_LANGCHAIN: readonly object[] = [StructuredTool, DynamicStructuredTool, Tool, DynamicTool].map(
  ({ prototype }) => prototype,
)

export interface Received {
  readonly input: unknown
  /** LangChain would copy it, and with that read members that may change. */
  readonly configurable: NodeConfig['configurable']
}

/**
 * The same tool, whose function receives exactly this: its schema might return another value the second time.
 */
export function receiving(tool: AgentTool, { input, configurable }: Received): AgentTool {
  const call: unknown = Reflect.get(tool, '_call')
  if (!(tool instanceof StructuredTool) || typeof call !== 'function') return tool
  return new Proxy(tool, {
    get(of, key) {
      if (key === '_call')
        return (_: unknown, run: unknown, config: object) => call.call(of, input, run, { ...config, configurable })
      const member: unknown = Reflect.get(of, key)
      // The methods of LangChain must find `_call` above; others may need private members of their own object.
      const isOwn = typeof member === 'function' && !OF_LANGCHAIN.some((one) => Reflect.get(one, key) === member)
      return isOwn && key !== 'constructor' ? member.bind(of) : member
    },
  })
}
