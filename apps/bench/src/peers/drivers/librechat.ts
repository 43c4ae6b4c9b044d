/** LibreChat's agents: a run in which the host executes the tools, and may start them early. */

import { type Driver, exportsOf, type Load, type PeerTask } from '../driver.ts'

interface AgentsModule {
  readonly Run: {
    create(settings: object): Promise<{ processStream(input: object, config: object): Promise<unknown> }>
  }
}

interface MessagesModule {
  readonly HumanMessage: new (text: string) => object
}

interface ExecuteRequest {
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly args: unknown }[]
  resolve(results: readonly object[]): void
  reject(error: unknown): void
}

/** A part of the message that LibreChat keeps of a run. */
export interface ContentPart {
  readonly type: string
  readonly text?: string | { readonly value: string }
  readonly tool_call?: {
    readonly id?: string
    readonly name?: string
    readonly args?: unknown
    readonly output?: string
  }
}

/** A run to make, and more about its model. */
export interface LibreChatTask extends Pick<PeerTask, 'wire' | 'url' | 'prompt' | 'tools' | 'work' | 'signal'> {
  /** Instead of that of the process. */
  readonly fetch?: typeof globalThis.fetch
  /** Another model is asked when the first one fails. */
  readonly fallback?: boolean
}

export const librechat: Driver = async (load) => {
  const run = await librechatRuns(load)
  return async (task) => answerOf(await run(task))
}

/** Returns a function that makes a run, with early tools, and returns its content. */
export async function librechatRuns(load: Load): Promise<(task: LibreChatTask) => Promise<readonly ContentPart[]>> {
  const { Run } = await exportsOf<AgentsModule>(load, '@librechat/agents', ['Run'])
  const { HumanMessage } = await exportsOf<MessagesModule>(load, '@librechat/agents/langchain/messages', [
    'HumanMessage',
  ])
  let runs = 0
  return async (task) => {
    const { prompt, tools, work, signal } = task
    const runId = `bench-${++runs}`
    const execute = async ({ toolCalls }: Pick<ExecuteRequest, 'toolCalls'>): Promise<readonly object[]> =>
      await Promise.all(
        toolCalls.map(async ({ id, name, args }) => ({
          toolCallId: id,
          status: 'success',
          content: await work({ callId: id, tool: name, input: args }, signal),
        })),
      )
    const run = await Run.create({
      runId,
      graphConfig: {
        type: 'standard',
        agents: [{ agentId: 'bench', ...modelOf(task), toolDefinitions: tools.map(definitionOf) }],
      },
      customHandlers: {
        on_tool_execute: {
          handle: (_: string, request: ExecuteRequest) => execute(request).then(request.resolve, request.reject),
        },
      },
      eagerEventToolExecution: { enabled: true },
      returnContent: true,
    })
    const messages = [new HumanMessage(prompt)]
    const config = { runId, configurable: { thread_id: runId }, recursionLimit: 100, signal, version: 'v2' }
    const content = await run.processStream({ messages }, { ...config, streamMode: 'values' })
    return Array.isArray(content) ? content : []
  }
}

function modelOf({ fallback = false, ...task }: LibreChatTask): object {
  const { wire, url, fetch } = task
  const client = fetch && { fetch }
  const common = {
    model: 'scripted',
    apiKey: 'none',
    streaming: true,
    maxRetries: 0,
    ...(fallback && { fallbacks: [modelOf(task)] }),
  }
  if (wire === 'anthropic') {
    const clientOptions = { baseURL: url, ...client }
    return { provider: 'anthropic', clientOptions: { ...common, clientOptions, maxTokens: 4_096 } }
  }
  return {
    provider: 'openAI',
    clientOptions: {
      ...common,
      useResponsesApi: wire === 'openai-responses',
      configuration: { baseURL: `${url}/v1`, ...client },
    },
  }
}

function definitionOf({ name, description, schema }: { name: string; description: string; schema: object }): object {
  return { name, description, parameters: schema }
}

/** The text after the last call. */
export function answerOf(content: readonly ContentPart[]): string {
  return textOf(content.slice(content.findLastIndex(({ type }) => type === 'tool_call') + 1))
}

export function textOf(content: readonly ContentPart[]): string {
  return content.map(({ text = '' }) => (typeof text === 'string' ? text : text.value)).join('')
}
