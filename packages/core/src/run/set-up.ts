/** The set-up of a run: its agent's, as hooks and wraps leave it, checked (A3). */

import { checkSetup } from '../config.ts'
import type { AgentSetup } from '../middleware.ts'
import { withStatusTool } from '../tool-call/status-tool.ts'
import { toolList } from '../tool-checks.ts'
import type { RunState } from './run.ts'

/**
 * A set-up that a hook or wrap has given, as steps work with it. What was checked when the agent was made, or when the run began, is
 * not checked again.
 *
 * @throws {ConfigError} It cannot work.
 */
export function checkedSetup(run: RunState, setup: AgentSetup): AgentSetup {
  const tools = withStatusTool(toolList(setup.tools))
  const isKnown = tools === setup.tools && (setup === run.config.setup || setup === run.setup)
  return isKnown ? setup : Object.freeze(checkSetup({ ...setup, tools }, run.config.output))
}
