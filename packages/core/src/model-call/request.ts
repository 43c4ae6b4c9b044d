/** What the model is asked in a step: made anew from the history each time. */

import type { RunState } from '../state/run.ts'
import { namesOf } from '../tool-call/aliases.ts'
import type { ModelRequest } from '../vocabulary/model.ts'
import { ReadOnlySet } from '../vocabulary/read-only-set.ts'

export function requestOf(run: RunState): ModelRequest {
  const { config, setup, history } = run
  return Object.freeze({
    model: setup.model,
    instructions: setup.instructions,
    messages: history.messages,
    tools: run.work.needs.definitionsOf(setup.tools, config),
    ...(setup.tools.length > 0 && { toolNames: new ReadOnlySet(namesOf(setup.tools)) }),
    toolChoice: config.toolChoice,
    ...(config.output && { output: config.output.format }),
    settings: config.settings,
    inputLimits: config.inputLimits,
    takenIds: history.ids,
    signal: run.halt.nextRequest(),
  })
}
