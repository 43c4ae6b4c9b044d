/** Pushes a response into an executor. */

import { type ScriptResponse, scriptedModel } from '@meanwhile/assemble/testing'
import type { Message, ModelEvent } from '@meanwhile/core'
import type { ToolExecutor } from '../src/index.ts'

/** Pushes the events of a scripted model at their times. */
export async function pushed(executor: ToolExecutor<ModelEvent, Message>, response: ScriptResponse): Promise<void> {
  const model = scriptedModel([response])
  const flow = model.stream({
    model,
    instructions: '',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Go' }] }],
    tools: [],
    toolChoice: 'auto',
    settings: {},
    inputLimits: { characters: 1e6, depth: 100 },
    takenIds: new Set(),
    signal: new AbortController().signal,
  })
  for await (const event of flow) executor.push(event)
}
