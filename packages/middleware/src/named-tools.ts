/** Tools that an option names: which calls it means, and the check that the run has each of them. */

import { ConfigError, type Middleware, type Run, runLocal, type Tool } from '@meanwhile/core'
import { findTool, nearestName } from '@meanwhile/core/calls'
import { agentsWith } from './agents-inside.ts'
import { checkToolNames } from './check-options.ts'

/** The option of middleware that tools are named for. */
export interface MayBeMissing {
  /**
   * Whether the run may lack a tool that is named here; the name then has no effect. Default `false`: the run ends with
   * `ConfigError` before its first model call, which names the nearest tool.
   */
  readonly mayBeMissing?: boolean
}

/** The tools that an option names. */
export interface NamedTools {
  /** The hook that calls `check`, when every `beforeAgent` has added its tools; none if every name is allowed. */
  readonly hook: Pick<Middleware, 'beforeModel'>
  /**
   * Checks a run once.
   *
   * @throws {ConfigError} No tool of the run has one of the names or aliases.
   */
  check(run: Run): void
  /** Whether one of the names is the tool's name or an alias of it. */
  has(tool: Tool): boolean
  /** Whether one of the names is this name, or belongs to the same tool of the run. */
  hasName(name: string, run: Run): boolean
}

/**
 * Returns the tools that `option` of the middleware factory `owner` names.
 *
 * @throws {ConfigError} `names` is not a list of names, or `mayBeMissing` is not a boolean.
 */
export function namedTools(
  owner: string,
  option: string,
  names: readonly string[],
  { mayBeMissing = false }: MayBeMissing,
): NamedTools {
  checkToolNames(option, names)
  if (typeof mayBeMissing !== 'boolean') throw new ConfigError('mayBeMissing', 'must be true or false')
  const given = new Set(names)
  const checked = runLocal(() => ({ done: false }))
  const has = ({ name, aliases }: Tool) => given.has(name) || (aliases?.names?.some((one) => given.has(one)) ?? false)
  const isChecked = !mayBeMissing && given.size > 0
  function check(run: Run): void {
    const state = checked(run)
    if (!isChecked || state.done) return
    const { tools } = run.setup
    const unknown = names.find((name) => !findTool(tools, name))
    if (unknown !== undefined) throw new ConfigError(option, `${unknown} ${unknownTool(unknown, tools, owner)}`)
    // Last: the calls of a step run side by side, and each must find the error.
    state.done = true
  }
  return {
    hook: isChecked ? { beforeModel: (_, run) => check(run) } : {},
    check,
    has,
    hasName(name, run) {
      if (given.size === 0) return false
      const tool = findTool(run.setup.tools, name)
      return tool ? has(tool) : given.has(name)
    },
  }
}

function unknownTool(name: string, tools: readonly Tool[], owner: string): string {
  const [inside] = agentsWith(name, tools)
  if (inside)
    return `is a tool of the agent ${inside.name}, which runs inside a call, and not of this run: give ${owner} to that agent, by agent.with({ middleware: [${owner}(…), ...agent.middleware] })`
  const words = Object.fromEntries(tools.map((tool) => [tool.name, tool.aliases?.names?.join(' ') ?? '']))
  const nearest = nearestName(name, words)
  const hint = nearest ? `did you mean ${nearest}?` : `the tools are: ${Object.keys(words).join(', ') || 'none'}.`
  return `is not the name of a tool; ${hint} If an agent inside a call has it, give ${owner} to that agent. If it may be missing, set mayBeMissing: true`
}
