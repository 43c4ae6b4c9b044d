/** What the model is asked in a step. */

import type { ModelRequest } from './model.ts'
import type { RunState } from './run.ts'
import { definitionOf } from './tool.ts'

export function requestOf(run: RunState): ModelRequest {
  const { config, setup } = run
  return {
    model: setup.model,
    instructions: setup.instructions,
    messages: run.messages,
    tools: setup.tools.map(definitionOf),
    toolChoice: config.toolChoice,
    ...(config.output && { output: config.output.format }),
    settings: config.settings,
    inputLimits: config.inputLimits,
    takenIds: run.takenIds,
    signal: run.requestSignal(),
  }
}
