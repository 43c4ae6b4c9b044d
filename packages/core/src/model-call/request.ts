/** What the model is asked in a step. */

import type { ModelRequest } from '../model.ts'
import { definitionsOf } from '../needs/needs.ts'
import type { RunState } from '../run/run.ts'
import { namesOf } from '../tool-call/aliases.ts'

export function requestOf(run: RunState): ModelRequest {
  const { config, setup, history } = run
  return {
    model: setup.model,
    instructions: setup.instructions,
    messages: history.messages,
    tools: definitionsOf(setup.tools, config),
    ...(setup.tools.length > 0 && { toolNames: namesOf(setup.tools) }),
    toolChoice: config.toolChoice,
    ...(config.output && { output: config.output.format }),
    settings: config.settings,
    inputLimits: config.inputLimits,
    takenIds: history.takenIds,
    signal: run.request.next(),
  }
}
