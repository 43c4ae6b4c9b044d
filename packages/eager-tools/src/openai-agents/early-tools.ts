/**
 * Determines which tools of a turn may start early: those that need no approval and no details that only the SDK has.
 */

import type { FunctionTool, RunContext, Tool } from '@openai/agents'
import type { Declared } from '../host/declared.ts'
import type { EagerLoop } from '../host/eager-loop.ts'

export interface EarlyToolsOptions {
  readonly declared: Declared
  /** The agent's own tools. Its other tools come from MCP servers. */
  readonly own: readonly Tool[]
  readonly context: RunContext<unknown>
  readonly loop: EagerLoop
}

/** Helpers of the SDK that are exported but not documented, and may be missing. */
export interface Internals {
  /** Whether a user's function decides about the approval of each call. */
  readonly hasDynamicFunctionToolApprovalPolicy?: (tool: FunctionTool) => boolean
  /** Parses arguments as the tool does. `undefined` if the parser of the tool is not known. */
  prepareFunctionToolInput?(tool: FunctionTool, text: string): PreparedInput | undefined
  /** A call with these details and this text uses the prepared input instead of parsing its arguments. */
  setFunctionToolPreparedInput?(details: object, prepared: PreparedInput): void
}

export interface PreparedInput {
  readonly input: string
  readonly result: { readonly success: boolean; readonly value?: unknown }
}

let loading: Promise<Internals> | undefined

/** Loaded once, before the first turn needs them. */
export function loadInternals(): Promise<Internals> {
  loading ??= import('@openai/agents-core/utils/internal').catch(() => ({}))
  return loading
}

/** What decided that a tool may start early. If the user changes it afterwards, the decision does not hold. */
export type Checked = Pick<FunctionTool, 'needsApproval' | 'invoke'>

export async function earlyTools(
  tools: readonly Tool[],
  options: EarlyToolsOptions,
): Promise<ReadonlyMap<Tool, Checked>> {
  const early = new Map<Tool, Checked>()
  for (const tool of tools) {
    if (tool.type !== 'function') continue
    const { needsApproval, invoke } = tool
    if (await mayBeEarly(tool, options)) early.set(tool, { needsApproval, invoke })
  }
  return early
}

/** Whether nothing has been added to the tool that may keep the SDK from executing its calls. */
export function isUnchanged(tool: FunctionTool, { needsApproval, invoke }: Checked): boolean {
  return tool.needsApproval === needsApproval && tool.invoke === invoke && !tool.inputGuardrails?.length
}

async function mayBeEarly(tool: Tool, { declared, own, context, loop }: EarlyToolsOptions): Promise<boolean> {
  if (tool.type !== 'function' || !declared.has(tool.name)) return false
  // An agent as a tool may interrupt, and the SDK finds its run again by the call object that the SDK itself made.
  if ('on' in tool) return false
  if (tool.inputGuardrails?.length || tool.deferLoading) return false
  // The SDK refuses a response in which the model itself calls it.
  if (tool.allowedCallers && !tool.allowedCallers.includes('direct')) return false
  // These receive details that only the SDK's own call has. The extractor of an MCP server receives only the call's id.
  if (tool.outputSchema || (tool.customDataExtractor && own.includes(tool))) return false
  return !(await mayNeedApproval(tool, context, loop))
}

async function mayNeedApproval(tool: FunctionTool, context: RunContext<unknown>, loop: EagerLoop): Promise<boolean> {
  const { approval } = loop.settings
  if (approval?.includes(tool.name)) return true
  const { hasDynamicFunctionToolApprovalPolicy: isDynamic } = await loadInternals()
  if (!isDynamic) {
    if (approval) return false
    loop.warnOnce(
      'approval-unknown',
      'no tool starts early: this version of @openai/agents does not expose which tools need an approval. List them in the setting `approval`, [] if there are none',
    )
    return true
  }
  // If it is not dynamic, the value is fixed and no user's function is called.
  return isDynamic(tool) || (await tool.needsApproval(context, '', ''))
}
