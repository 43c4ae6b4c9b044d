/** The tools of the AI SDK: which may start early, how they start, and how the loop joins them. */

import { asSchema } from 'ai'
import type { Declared } from '../host/declared.ts'
import type { EarlyTool } from '../host/host-tool.ts'
import { own } from './own.ts'
import type { Schema, SdkOptions, SdkTool, ToolAsked } from './sdk.ts'
import type { Step } from './steps.ts'

/**
 * Whether calls of a tool may start early at all. They may not if the SDK does something between the model's call and
 * the execution: functions for approval and refinement must be called only once, with the final call, and the
 * `onInput…` functions before the execution. `approval`: the setting.
 */
export function mayBeEarly(
  name: string,
  tool: SdkTool,
  options: SdkOptions,
  approval: readonly string[] = [],
): boolean {
  if (approval.includes(name) || typeof tool.execute !== 'function' || isBound(tool)) return false
  const { toolApproval, experimental_refineToolInput: refined } = options
  if (typeof toolApproval === 'function') return false
  const status = own(toolApproval, name)
  const { needsApproval, onInputStart, onInputDelta, onInputAvailable, deferLoading } = tool
  return (
    (status === undefined || status === null || status === 'not-applicable') &&
    !own(refined, name) &&
    !needsApproval &&
    !(onInputStart || onInputDelta || onInputAvailable) &&
    !deferLoading
  )
}

const TOOL_SEARCH = Symbol.for('vercel.ai.toolSearch')

/** Whether the SDK may execute another function in the place of `execute`. */
function isBound(tool: SdkTool): boolean {
  return tool.experimental_toolCaller !== undefined || Reflect.get(tool, TOOL_SEARCH) === true
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
  return {
    ...effect,
    mayStart: (call) => step.mayStart(name, call),
    check: (written) => valid(tool.inputSchema, written),
    context: () => valid(tool.contextSchema, own(step.toolsContext, name)),
    start: (input, { id, signal, context }) =>
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
export function valid(schema: Schema | undefined, value: unknown): unknown {
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
