/** The tools of the AI SDK: which may start early at all, how they start, and how the loop joins them. */

import { asSchema } from 'ai'
import type { Declared } from '../host/declared.ts'
import type { EarlyTool } from '../host/host-tool.ts'
import type { Schema, SdkOptions, SdkTool, ToolAsked } from './sdk.ts'
import type { Step } from './steps.ts'

/** What is known of the options that keeps tools from an early start. A call of an agent may be prepared with others. */
export class Restraints {
  readonly #names: Set<string>
  #isAll = false

  constructor(approval: readonly string[] = []) {
    this.#names = new Set(approval)
  }

  /** A function of all tools may be asked only once, with the final call; so may that of one tool. */
  heed({ toolApproval, experimental_refineToolInput }: SdkOptions): void {
    if (typeof toolApproval === 'function') this.#isAll = true
    for (const [name, status] of Object.entries(Object(toolApproval)))
      if (status !== undefined && status !== 'not-applicable') this.#names.add(name)
    for (const name of Object.keys(Object(experimental_refineToolInput))) this.#names.add(name)
  }

  allow(name: string, tool: SdkTool): boolean {
    const { execute, needsApproval, onInputAvailable, deferLoading } = tool
    if (this.#isAll || this.#names.has(name) || typeof execute !== 'function') return false
    // `onInputAvailable` comes before the execution.
    return (needsApproval === undefined || needsApproval === false) && !onInputAvailable && !deferLoading
  }
}

/** How a tool starts in a step, with all that the loop would give it. */
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

/** The same tool, whose `execute` takes what has started. A proxy: tools may be of a class, and have members that a copy loses. */
export function joining(
  tool: SdkTool,
  take: (input: unknown, asked: ToolAsked) => { readonly result: unknown } | undefined,
): SdkTool {
  const execute = (input: unknown, asked: ToolAsked) => {
    const taken = take(input, asked)
    return taken ? taken.result : tool.execute?.(input, asked)
  }
  return new Proxy(tool, {
    get(target, key) {
      if (key === 'execute') return execute
      const value: unknown = Reflect.get(target, key)
      // A method of a class may use what only its own object has.
      return typeof value === 'function' && !Object.hasOwn(target, key) ? value.bind(target) : value
    },
  })
}

/** Returns what the schema makes of the value, or a promise of it. The promise rejects if the schema does not accept the value. */
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
