/** Mastra: `Agent.stream()`, with models of the AI SDK. */

import { type Driver, exportsOf } from '../driver.ts'
import { aiSdkModels } from './ai-sdk-models.ts'

interface AgentModule {
  readonly Agent: new (settings: object) => { stream(prompt: string, options: object): Promise<StreamedRun> }
}

interface StreamedRun {
  consumeStream(): Promise<void>
  readonly steps: Promise<readonly { readonly text: string }[]>
  readonly error?: unknown
}

interface ToolsModule {
  createTool(settings: object): object
}

interface Context {
  readonly agent?: { readonly toolCallId?: string }
}

export const mastra: Driver = async (load) => {
  const { Agent } = await exportsOf<AgentModule>(load, '@mastra/core/agent', ['Agent'])
  const { createTool } = await exportsOf<ToolsModule>(load, '@mastra/core/tools', ['createTool'])
  const modelOf = await aiSdkModels(load)
  return async (task) => {
    const tools = task.tools.map(({ name, description, schema: inputSchema }) => {
      const execute = (input: unknown, { agent }: Context) =>
        task.work({ callId: agent?.toolCallId ?? '', tool: name, input }, task.signal)
      return [name, createTool({ id: name, description, inputSchema, execute })] as const
    })
    const agent = new Agent({
      id: 'bench',
      name: 'bench',
      instructions: 'Do the tasks.',
      model: modelOf(task),
      tools: Object.fromEntries(tools),
      maxRetries: 0,
    })
    const run = await agent.stream(task.prompt, { maxSteps: 100, abortSignal: task.signal })
    await run.consumeStream()
    if (run.error !== undefined) throw run.error
    return (await run.steps).at(-1)?.text ?? ''
  }
}
