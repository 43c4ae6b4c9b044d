/** The AI SDK: `streamText` with tools, until the model is done. */

import { type Driver, exportsOf } from '../driver.ts'
import { aiSdkModels } from './ai-sdk-models.ts'

interface AiModule {
  streamText(settings: object): { consumeStream(): PromiseLike<void>; readonly text: PromiseLike<string> }
  tool(settings: object): object
  jsonSchema(schema: object): object
  stepCountIs(steps: number): object
}

export const ai: Driver = async (load) => {
  const names = ['streamText', 'tool', 'jsonSchema', 'stepCountIs'] as const
  const { streamText, tool, jsonSchema, stepCountIs } = await exportsOf<AiModule>(load, 'ai', names)
  const modelOf = await aiSdkModels(load)
  return async (task) => {
    const tools = task.tools.map(({ name, description, schema }) => {
      const execute = (input: unknown, { toolCallId }: { readonly toolCallId: string }) =>
        task.work({ callId: toolCallId, tool: name, input }, task.signal)
      return [name, tool({ description, inputSchema: jsonSchema(schema), execute })] as const
    })
    let failure: unknown
    const result = streamText({
      model: modelOf(task),
      prompt: task.prompt,
      tools: Object.fromEntries(tools),
      stopWhen: stepCountIs(100),
      maxRetries: 0,
      abortSignal: task.signal,
      onError: ({ error }: { readonly error: unknown }) => void (failure ??= error),
    })
    await result.consumeStream()
    if (failure !== undefined) throw failure
    return await result.text
  }
}
