/** Tools that an approval or a limit of the agent may keep from running. */

import { type AgentMiddleware, isObject, type NodeConfig } from './library.ts'

const APPROVING = 'HumanInTheLoopMiddleware'
const LIMITING = 'ToolCallLimitMiddleware'
const EMULATING = 'ToolEmulatorMiddleware'

/** Middlewares of LangChain that may prevent a call. A limit of one tool has that tool's name in brackets. */
const PREVENTING = new RegExp(`^(${APPROVING}|${LIMITING}|${EMULATING})\\b`)

/** The first of these middlewares that may prevent calls, without exposing of which tools. */
export function preventing(middleware: readonly AgentMiddleware[]): string | undefined {
  return middleware.find(({ name }) => PREVENTING.test(name))?.name
}

/** The tools that `interruptOn` names, as `humanInTheLoopMiddleware` reads it. */
export function guardedBy(interruptOn: unknown): readonly string[] {
  if (!isObject(interruptOn)) return []
  return Object.entries(interruptOn).flatMap(([name, guard]) => {
    const isGuarded = guard === true || (isObject(guard) && Boolean(Reflect.get(guard, 'allowedDecisions')))
    return isGuarded ? [name] : []
  })
}

/** The tools that the context of a run guards: it may contain its own `interruptOn`. */
export function guardedInContext({ context }: NodeConfig): readonly string[] {
  return isObject(context) ? guardedBy(Reflect.get(context, 'interruptOn')) : []
}

export interface KnownGuards {
  /** Which tools an approval guards is known. */
  readonly approvals: boolean
  /** Names of all tools: a limit may be that of one of them. */
  readonly tools: readonly string[]
}

/** A middleware of LangChain in the agent's graph that may prevent calls, although the options do not contain it. */
export function unknownGuard(node: NodeConfig, { approvals, tools }: KnownGuards): string | undefined {
  const limits = [LIMITING, ...tools.map((tool) => `${LIMITING}[${tool}]`)]
  return [...(approvals ? [] : [APPROVING]), ...limits].find((name) => hasNode(node, `${name}.after_model`))
}

/** Whether the graph has a node of this name: reading the channel that triggers it throws if there is none. */
function hasNode({ configurable }: NodeConfig, name: string): boolean {
  const read: unknown = configurable?.__pregel_read
  if (typeof read !== 'function') return false
  try {
    return read(`branch:to:${name}`) !== undefined
  } catch {
    return false
  }
}
