/** LibreChat's agents: a run in which the host executes the tools, and may start them early. */

import { type Driver, exportsOf } from '../driver.ts'

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

type Part = { readonly type: string; readonly text?: string | { readonly value: string } }

export const librechat: Driver = async (load) => {
  const { Run } = await exportsOf<AgentsModule>(load, '@librechat/agents', ['Run'])
  const { HumanMessage } = await exportsOf<MessagesModule>(load, '@librechat/agents/langchain/messages', [
    'HumanMessage',
  ])
  let runs = 0
  return async ({ wire, url, prompt, tools, work, signal }) => {
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
        agents: [{ agentId: 'bench', ...modelOf(wire, url), toolDefinitions: tools.map(definitionOf) }],
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
    return textOf(content)
  }
}

function modelOf(wire: string, url: string): object {
  const common = { model: 'scripted', apiKey: 'none', streaming: true, maxRetries: 0 }
  if (wire === 'anthropic')
    return { provider: 'anthropic', clientOptions: { ...common, clientOptions: { baseURL: url }, maxTokens: 4_096 } }
  return {
    provider: 'openAI',
    clientOptions: {
      ...common,
      useResponsesApi: wire === 'openai-responses',
      configuration: { baseURL: `${url}/v1` },
    },
  }
}

function definitionOf({ name, description, schema }: { name: string; description: string; schema: object }): object {
  return { name, description, parameters: schema }
}

/** The text after the last call. */
function textOf(content: unknown): string {
  const parts: readonly Part[] = Array.isArray(content) ? content : []
  const last = parts.findLastIndex(({ type }) => type === 'tool_call')
  return parts
    .slice(last + 1)
    .map(({ text = '' }) => (typeof text === 'string' ? text : text.value))
    .join('')
}
