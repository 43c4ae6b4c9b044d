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
  // A proxy cannot show another value of a member that cannot change.
  const isFixed = Object.getOwnPropertyDescriptor(tool, 'execute')?.configurable === false
  return new Proxy(isFixed ? copyWith(tool, execute) : tool, {
    get(_, key) {
      if (key === 'execute') return execute
      const value: unknown = Reflect.get(tool, key)
      // A method of a class may need its own object.
      return typeof value === 'function' && !Object.hasOwn(tool, key) ? value.bind(tool) : value
    },
  })
}

function copyWith(tool: SdkTool, execute: SdkTool['execute']): SdkTool {
  return Object.create(Object.getPrototypeOf(tool) as object, {
    ...Object.getOwnPropertyDescriptors(tool),
    execute: { value: execute, enumerable: true, configurable: true, writable: true },
  }) as SdkTool
}
