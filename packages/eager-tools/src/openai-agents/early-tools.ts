/** Which tools of a turn may start early: those whose calls need nobody's consent, and no details that only the SDK has. */

import type { FunctionTool, RunContext, Tool } from '@openai/agents'
import type { Declared } from '../host/declared.ts'
import type { EagerLoop } from '../host/eager-loop.ts'

export interface EarlyToolsOptions {
  readonly declared: Declared
  /** Of the agent. Its other ones come from MCP servers. */
  readonly own: readonly Tool[]
  readonly context: RunContext<unknown>
  readonly loop: EagerLoop
}

/** The SDK's own helpers, as far as it still has them. They are exported, and not documented. */
interface Internals {
  /** Whether a function of the user's decides on the approval of each call. */
  readonly hasDynamicFunctionToolApprovalPolicy?: (tool: FunctionTool) => boolean
}

let loading: Promise<Internals> | undefined

/** Loaded once, and before the first turn needs them. */
export function loadInternals(): Promise<Internals> {
  loading ??= import('@openai/agents-core/utils/internal').catch(() => ({}))
  return loading
}

export async function earlyTools(tools: readonly Tool[], options: EarlyToolsOptions): Promise<ReadonlySet<Tool>> {
  const early = new Set<Tool>()
  for (const tool of tools) if (await mayBeEarly(tool, options)) early.add(tool)
  return early
}

async function mayBeEarly(tool: Tool, { declared, own, context, loop }: EarlyToolsOptions): Promise<boolean> {
  if (tool.type !== 'function' || !declared.has(tool.name)) return false
  // A run of its own, which may stop to ask: the SDK finds it again by the very call that it makes itself.
  if ('on' in tool) return false
  if (tool.inputGuardrails?.length || tool.deferLoading) return false
  // These are told of a call by details that only the SDK's own call has. An MCP server's extractor is told by the call's id.
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
      'no tool starts early: this version of @openai/agents does not say which tools need an approval. Name them in the setting `approval`, [] if there are none',
    )
    return true
  }
  // What is not dynamic is a fixed word, and no function of the user's.
  return isDynamic(tool) || (await tool.needsApproval(context, '', ''))
}
