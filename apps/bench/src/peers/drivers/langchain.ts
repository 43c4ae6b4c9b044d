/** LangChain: an agent of `createAgent`, streamed message by message. */

import { type Driver, exportsOf, type Load, type PeerTask } from '../driver.ts'

interface LangChainModule {
  createAgent(settings: object): { stream(input: object, options: object): Promise<AsyncIterable<Piece>> }
  tool(execute: (input: unknown, config: Config) => Promise<string>, settings: object): object
}

type Piece = readonly ['values', State] | readonly ['messages', object]

interface State {
  readonly messages?: readonly { readonly text?: string }[]
}

interface Config {
  readonly toolCall?: { readonly id?: string }
}

export const langchain: Driver = async (load) => {
  const { createAgent, tool } = await exportsOf<LangChainModule>(load, 'langchain', ['createAgent', 'tool'])
  const modelOf = await models(load)
  return async (task) => {
    const tools = task.tools.map(({ name, description, schema }) =>
      tool((input, { toolCall }) => task.work({ callId: toolCall?.id ?? '', tool: name, input }, task.signal), {
        name,
        description,
        schema,
      }),
    )
    const agent = createAgent({ model: modelOf(task), tools })
    const messages = [{ role: 'user', content: task.prompt }]
    // The mode `messages` is what makes the model stream. Its own `streaming` would count tokens, for which it goes to the network.
    const options = { streamMode: ['values', 'messages'], recursionLimit: 100, signal: task.signal }
    let text = ''
    for await (const [mode, state] of await agent.stream({ messages }, options)) {
      if (mode === 'values') text = state.messages?.at(-1)?.text ?? ''
    }
    return text
  }
}

async function models(load: Load): Promise<(task: PeerTask) => object> {
  type Model = new (settings: object) => object
  const { ChatOpenAI } = await exportsOf<{ ChatOpenAI: Model }>(load, '@langchain/openai', ['ChatOpenAI'])
  const { ChatAnthropic } = await exportsOf<{ ChatAnthropic: Model }>(load, '@langchain/anthropic', ['ChatAnthropic'])
  return ({ wire, url }) => {
    const settings = { model: 'scripted', apiKey: 'none', maxRetries: 0 }
    return wire === 'anthropic'
      ? new ChatAnthropic({ ...settings, anthropicApiUrl: url, maxTokens: 4_096 })
      : new ChatOpenAI({
          ...settings,
          useResponsesApi: wire === 'openai-responses',
          configuration: { baseURL: `${url}/v1` },
        })
  }
}
