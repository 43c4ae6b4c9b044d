/** What the AI SDK gets instead of a declared tool: the same tool, whose `execute` joins an early call. */

import type { SdkTool, ToolAsked } from './sdk.ts'

/**
 * The same tool, with an `execute` that joins an early call. It is a proxy, because tools may be class instances or
 * have members that a copy would lose.
 */
export function joiningTool(
  tool: SdkTool,
  join: (input: unknown, asked: ToolAsked, own: () => unknown) => unknown,
): SdkTool {
  const execute = (input: unknown, asked: ToolAsked) => join(input, asked, () => tool.execute?.(input, asked))
  return new Proxy(tool, {
    get(target, key) {
      if (key === 'execute') return execute
      const value: unknown = Reflect.get(target, key)
      // A method of a class may need its own object.
      return typeof value === 'function' && !Object.hasOwn(target, key) ? value.bind(target) : value
    },
  })
}
