/** Makes and checks the set-up of a run, as its agent, hooks and wraps define it. */

import type { RunState } from '../state/run.ts'
import type { Output } from '../vocabulary/agent-config.ts'
import { checkAliases, findTool } from '../vocabulary/aliases.ts'
import { checkCopy } from '../vocabulary/copies.ts'
import { ConfigError } from '../vocabulary/errors.ts'
import { isRecord } from '../vocabulary/json.ts'
import type { Model } from '../vocabulary/model.ts'
import { checkCount, checkTypes } from '../vocabulary/option-checks.ts'
import type { AgentSetup } from '../vocabulary/tool.ts'
import { checkTool, toolList } from '../vocabulary/tool-checks.ts'
import { withStatusTool } from './status-tool.ts'

/** Returns a frozen copy of a set-up that a hook returned or a wrap passes on. Throws {@link ConfigError} if it is invalid. */
export function checkedSetup(run: RunState, setup: AgentSetup): AgentSetup {
  if (!isRecord(setup)) throw new ConfigError('setup', 'must be a setup, like the given one')
  const own = Object.freeze({ ...setup, tools: Object.freeze([...toolList(setup.tools)]) })
  checkSetup(withOwnTools(own), run.config.output)
  return own
}

/** Returns the set-up with the tools that core adds, as steps use it. Throws {@link ConfigError} if one of their names is taken. */
export function withOwnTools(setup: AgentSetup): AgentSetup {
  const tools = withStatusTool(setup.tools)
  return tools === setup.tools ? setup : Object.freeze({ ...setup, tools: Object.freeze(tools) })
}

/** Checks a set-up from a hook or wrap. Its tools are a {@link toolList}. */
export function checkSetup(setup: AgentSetup, output: Output | undefined): void {
  checkModel(setup.model)
  checkTypes('string', setup, ['instructions'])
  checkCount('maxSteps', setup.maxSteps)
  checkCount('toolConcurrency', setup.toolConcurrency)
  checkCount('innerConcurrency', setup.innerConcurrency)
  if (typeof setup.captureContent !== 'boolean' && typeof setup.captureContent !== 'function')
    throw new ConfigError('telemetry.captureContent', 'must be true, false or a function')
  for (const tool of setup.tools) checkTool(tool)
  checkAliases(setup.tools)
  const taken = output && findTool(setup.tools, output.format.name)
  if (taken)
    throw new ConfigError('tools', `${taken.name} and the tool of the output are both called "${output.format.name}"`)
}

const NO_MODEL = 'must be a model, such as openai({ client, model }) of @meanwhile/models/openai'

export function checkModel(model: Model | undefined): void {
  checkCopy(model)
  if (typeof model?.stream === 'function') return
  const isOfAiSdk = isRecord(model) && 'doStream' in model
  throw new ConfigError('model', isOfAiSdk ? 'write aiSdk(model), of @meanwhile/models/ai-sdk' : NO_MODEL)
}
