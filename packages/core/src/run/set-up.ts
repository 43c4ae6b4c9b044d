/** The set-up of a run: its agent's, as hooks and wraps leave it, checked (A3). */

import { checkSetup } from '../config.ts'
import { ConfigError } from '../errors.ts'
import { isRecord } from '../json.ts'
import type { AgentSetup } from '../tool.ts'
import { withStatusTool } from '../tool-call/status-tool.ts'
import { toolList } from '../tool-checks.ts'
import type { RunState } from './run.ts'

/**
 * A set-up that a hook has given back, or a wrap hands on: a frozen copy, for whoever comes next.
 *
 * @throws {ConfigError} It cannot work.
 */
export function checkedSetup({ config }: RunState, setup: AgentSetup): AgentSetup {
  if (!isRecord(setup)) throw new ConfigError('setup', 'must be a set-up, like the one that was given')
  const own = Object.freeze({ ...setup, tools: Object.freeze([...toolList(setup.tools)]) })
  checkSetup(withOwnTools(own), config.output)
  return own
}

/** As steps work with it: with the tools that core adds. Throws {@link ConfigError} if one of their names is taken. */
export function withOwnTools(setup: AgentSetup): AgentSetup {
  const tools = withStatusTool(setup.tools)
  return tools === setup.tools ? setup : Object.freeze({ ...setup, tools: Object.freeze(tools) })
}
