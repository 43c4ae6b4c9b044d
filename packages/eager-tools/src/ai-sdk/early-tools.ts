/** The tools of the AI SDK: which may start early, how they start, and how the loop joins them. */

import { asSchema } from 'ai'
import type { Declared } from '../host/declared.ts'
import type { EarlyTool } from '../host/host-tool.ts'
import type { Schema, SdkOptions, SdkTool, ToolAsked } from './sdk.ts'
import type { Step } from './steps.ts'

/** The tools that must not start early because of an approval or a refinement. Each call of an agent may add more. */
export class Restraints {
  readonly #names: Set<string>
  #isAll = false

  constructor(approval: readonly string[] = []) {
    this.#names = new Set(approval)
  }

  /**
   * Functions for approval and refinement must be called only once, with the final call, so their tools never start
   * early.
   */
  add({ toolApproval, experimental_refineToolInput }: SdkOptions): void {
    if (typeof toolApproval === 'function') this.#isAll = true
    for (const [name, status] of Object.entries(Object(toolApproval)))
      if (status !== undefined && status !== 'not-applicable') this.#names.add(name)
    for (const name of Object.keys(Object(experimental_refineToolInput))) this.#names.add(name)
  }

  allow(name: string, tool: SdkTool): boolean {
    const { execute, needsApproval, onInputAvailable, deferLoading } = tool
    if (this.#isAll || this.#names.has(name) || typeof execute !== 'function') return false
    // `onInputAvailable` must be called before the execution.
    return (needsApproval === undefined || needsApproval === false) && !onInputAvailable && !deferLoading
  }
}

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
  let context: unknown
  const checkedWithContext = async (written: unknown) => {
    context = await valid(tool.contextSchema, context)
    return valid(tool.inputSchema, written)
  }
  return {
    ...effect,
    check(written) {
      context = step.toolsContext[name]
      return tool.contextSchema === undefined ? valid(tool.inputSchema, written) : checkedWithContext(written)
    },
    start: (input, { id, signal }) =>
      tool.execute?.(input, {
        toolCallId: id,
        messages: step.messages,
        abortSignal: limited(signal, timeoutOf(timeout, name)),
        context,
        experimental_sandbox: step.sandbox,
      }),
  }
}

/**
 * The same tool, with an `execute` that joins an early call. It is a proxy, because tools may be class instances or
 * have members that a copy would lose.
 */
export function joining(
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

/** Returns the value as the schema returns it, or a promise of it, which rejects if the schema rejects the value. */
function valid(schema: Schema | undefined, value: unknown): unknown {
  if (schema === undefined) return value
  const { validate } = asSchema(schema)
  return validate ? accepted(validate, value) : value
}

async function accepted(validate: Validate, value: unknown): Promise<unknown> {
  const result = await validate(value)
  if (!result.success) throw result.error
  return result.value
}

type Validate = NonNullable<ReturnType<typeof asSchema>['validate']>

function timeoutOf(timeout: SdkOptions['timeout'], name: string): number | undefined {
  return typeof timeout === 'object' ? (timeout.tools?.[`${name}Ms`] ?? timeout.toolMs) : undefined
}

function limited(signal: AbortSignal, ms: number | undefined): AbortSignal {
  return ms === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(ms)])
}
