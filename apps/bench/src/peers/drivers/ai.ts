/** The AI SDK: its loops with tools, until the model is done. */

import type { LoopName } from '../../drop-ins/loops.ts'
import { type Driver, exportsOf, type PeerTask } from '../driver.ts'
import { aiSdkModels } from './ai-sdk-models.ts'

interface AiModule {
  streamText(settings: object): Streamed
  generateText(settings: object): Promise<{ readonly text: string }>
  readonly ToolLoopAgent: new (settings: object) => { stream(call: object): Promise<Streamed> }
  tool(settings: object): object
  jsonSchema(schema: object): object
  stepCountIs(steps: number): object
}

interface Streamed {
  consumeStream(options: { readonly onError: (error: unknown) => void }): PromiseLike<void>
  readonly text: PromiseLike<string>
}

export const ai: Driver = async (load) => {
  const names = ['streamText', 'generateText', 'ToolLoopAgent', 'tool', 'jsonSchema', 'stepCountIs'] as const
  const module = await exportsOf<AiModule>(load, 'ai', names)
  const modelOf = await aiSdkModels(load)
  return async (task) => {
    const settings = { ...settingsOf(task, module), model: modelOf(task) }
    return await loopOf(task.loop)(module, settings, task)
  }
}

type Loop = (module: AiModule, settings: object, task: PeerTask) => Promise<string>

function loopOf(name: LoopName | undefined): Loop {
  if (name === 'ToolLoopAgent') return toolLoopAgent
  return name === 'generateText' ? generate : stream
}

const stream: Loop = async ({ streamText }, settings, { dropIn, prompt, signal }) => {
  let failure: unknown
  const onError = ({ error }: { readonly error: unknown }): void => void (failure ??= error)
  const result = streamText(dropIn({ ...settings, prompt, abortSignal: signal, onError }))
  await result.consumeStream({ onError: (error) => void (failure ??= error) })
  if (failure !== undefined) throw failure
  return await result.text
}

const toolLoopAgent: Loop = async ({ ToolLoopAgent }, settings, { dropIn, prompt, signal: abortSignal }) => {
  const agent = new ToolLoopAgent(dropIn(settings))
  const result = await agent.stream({ prompt, abortSignal })
  let failure: unknown
  await result.consumeStream({ onError: (error) => void (failure ??= error) })
  if (failure !== undefined) throw failure
  return await result.text
}

const generate: Loop = async ({ generateText }, settings, { dropIn, prompt, signal: abortSignal }) => {
  const { text } = await generateText(dropIn({ ...settings, prompt, abortSignal }))
  return text
}

function settingsOf({ tools, work, signal }: PeerTask, { tool, jsonSchema, stepCountIs }: AiModule): object {
  const made = tools.map(({ name, description, schema }) => {
    const execute = (input: unknown, { toolCallId }: { readonly toolCallId: string }) =>
      work({ callId: toolCallId, tool: name, input }, signal)
    return [name, tool({ description, inputSchema: jsonSchema(schema), execute })] as const
  })
  return { tools: Object.fromEntries(made), stopWhen: stepCountIs(100), maxRetries: 0 }
}
