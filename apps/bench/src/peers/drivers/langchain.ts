/** LangChain: an agent of `createAgent`, streamed message by message or invoked. */

import { type Driver, exportsOf, type Load, type PeerTask } from '../driver.ts'

interface LangChainModule {
  createAgent(settings: object): Agent
  tool(execute: (input: unknown, config: Config) => Promise<string>, settings: object): object
}

interface Agent {
  stream(input: object, options: object): Promise<AsyncIterable<Piece>>
  invoke(input: object, options: object): Promise<State>
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
    const agent = createAgent(task.dropIn({ model: modelOf(task), tools }))
    const messages = [{ role: 'user', content: task.prompt }]
    // The mode `messages` makes the model stream. Its own `streaming` would count tokens, for which it uses the network.
    const streamMode = ['values', 'messages']
    const options = { recursionLimit: 100, signal: task.signal }
    if (task.loop === 'agent.invoke') return textOf(await agent.invoke({ messages }, options))
    let text = ''
    for await (const [mode, state] of await agent.stream({ messages }, { ...options, streamMode })) {
      if (mode === 'values') text = textOf(state)
    }
    return text
  }
}

function textOf({ messages }: State): string {
  return messages?.at(-1)?.text ?? ''
}

async function models(load: Load): Promise<(task: PeerTask) => object | string> {
  type Model = new (settings: object) => object
  const { ChatOpenAI } = await exportsOf<{ ChatOpenAI: Model }>(load, '@langchain/openai', ['ChatOpenAI'])
  const { ChatAnthropic } = await exportsOf<{ ChatAnthropic: Model }>(load, '@langchain/anthropic', ['ChatAnthropic'])
  return ({ wire, url, loop }) => {
    if (loop === 'agent.stream, model by name') {
      process.env.OPENAI_BASE_URL = `${url}/v1`
      return 'openai:scripted'
    }
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
