/** What the SDK gets instead of a tool that may start early: the same tool, with other parameters and another `invoke`. */

import type { FunctionTool } from '@openai/agents'

type Replaced = Pick<FunctionTool, 'parameters' | 'invoke'>

export interface Joining extends Replaced {
  /** Whether the SDK parses the arguments of this tool's calls itself, before it invokes the tool. */
  isParsed(): boolean
}

const originals: WeakMap<object, FunctionTool> = new WeakMap()

/** The user's tool that such a tool stands for. Anything else is returned as it is. */
export function originalTool(value: unknown): unknown {
  return (typeof value === 'object' && value !== null && originals.get(value)) || value
}

/** What is changed in the original meanwhile, such as its approval, also holds for the SDK. */
export function joiningTool(original: FunctionTool, { isParsed, ...replaced }: Joining): FunctionTool {
  const target = isFixed(original) ? copyOf(original) : original
  let lastRead: PropertyKey | undefined
  const joining = new Proxy(target, {
    get(_, key) {
      // The SDK finds the parser of a tool by its `invoke`, which it reads right after the parameters.
      const isForParser = key === 'invoke' && lastRead === 'parameters'
      lastRead = key
      return isReplaced(key) && !(isForParser && isParsed()) ? replaced[key] : Reflect.get(target, key)
    },
    getOwnPropertyDescriptor(_, key) {
      const descriptor = Reflect.getOwnPropertyDescriptor(target, key)
      if (!descriptor || !isReplaced(key)) return descriptor
      return { value: replaced[key], writable: true, configurable: true, enumerable: descriptor.enumerable ?? true }
    },
  })
  originals.set(joining, original)
  return joining
}

function isReplaced(key: PropertyKey): key is keyof Replaced {
  return key === 'parameters' || key === 'invoke'
}

/** A proxy cannot show another value of a member that cannot change. */
function isFixed(tool: FunctionTool): boolean {
  return ['parameters', 'invoke'].some((key) => Object.getOwnPropertyDescriptor(tool, key)?.configurable === false)
}

function copyOf(tool: FunctionTool): FunctionTool {
  const { parameters, invoke } = tool
  // A spread would lose hidden members of tools.
  return Object.create(Object.getPrototypeOf(tool) as object, {
    ...Object.getOwnPropertyDescriptors(tool),
    ...Object.getOwnPropertyDescriptors({ parameters, invoke }),
  }) as FunctionTool
}
