/** Defines `tool_status`, the tool with which a model reads the status of a background call. */

import { latestWork, readResult } from '../background/background.ts'
import { tool } from '../vocabulary/define-tool.ts'
import { ConfigError } from '../vocabulary/errors.ts'
import { textOf } from '../vocabulary/message.ts'
import { present } from '../vocabulary/present.ts'
import type { Tool, ToolContext } from '../vocabulary/tool.ts'
import { UnknownCallError } from '../vocabulary/tool-errors.ts'
import { textInput } from '../vocabulary/tool-schema.ts'
import { stateOf } from './run-view.ts'

/** The tools of an agent, plus this one if any of them works in the background. Throws {@link ConfigError} if its name is taken. */
export function withStatusTool(tools: readonly Tool[]): readonly Tool[] {
  if (!tools.some(({ background }) => background) || tools.includes(statusTool)) return tools
  if (tools.some(({ name }) => name === statusTool.name))
    throw new ConfigError('tools', `"${statusTool.name}" is the tool that core adds for background calls`)
  return [...tools, statusTool]
}

const input = textInput('callId', 'The callId in the first result of the background call.')

const statusTool: Tool = tool({
  name: 'tool_status',
  description: 'Returns the state, the progress and the result of a background call.',
  input,
  execute: statusOf,
})

function statusOf({ callId }: { readonly callId: string }, { run }: ToolContext): object {
  if (!run) throw new TypeError('tool_status only works in a run')
  const state = stateOf(run)
  const entry = latestWork(state, callId)
  if (!entry) throw new UnknownCallError(callId)
  const { state: status, progress, message } = entry.status.read()
  const result = readResult(state, entry)
  return present({ callId, state: status, progress, message, result: result && textOf(result) })
}
