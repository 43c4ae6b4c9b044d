/** pi's agent loop, in the way of its documentation. */

import { exportsOf, type Load, type PeerRun } from '../../peers/driver.ts'

interface AgentModule {
  readonly Agent: new (settings: object) => PiAgent
}

export interface PiAgent {
  prompt(text: string): Promise<void>
  abort(): void
  subscribe(listener: (event: { readonly type: string }) => void): () => void
  readonly state: { readonly messages: readonly PiMessage[]; readonly errorMessage?: string }
}

export interface PiMessage {
  readonly role: string
  readonly content: string | readonly { readonly type: string; readonly text?: string }[]
}

interface ApiModule {
  streamSimple(...args: unknown[]): unknown
}

const APIS = {
  'openai-chat': 'openai-completions',
  'openai-responses': 'openai-responses',
  anthropic: 'anthropic-messages',
}

export const PI = ['@earendil-works/pi-agent-core', '@earendil-works/pi-ai'] as const

/** `watch` sees the agent before it begins. */
export async function pi(load: Load, watch: (agent: PiAgent) => void = () => undefined): Promise<PeerRun> {
  const { Agent } = await exportsOf<AgentModule>(load, PI[0], ['Agent'])
  return async ({ wire, url, prompt, tools, work, signal }) => {
    const api = APIS[wire]
    const { streamSimple } = await exportsOf<ApiModule>(load, `${PI[1]}/api/${api}`, ['streamSimple'])
    const model = {
      id: 'scripted',
      name: 'scripted',
      api,
      provider: 'scripted',
      baseUrl: wire === 'anthropic' ? url : `${url}/v1`,
      reasoning: false,
      input: ['text'],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 100_000,
      maxTokens: 1_000,
    }
    const made = tools.map(({ name, description, schema: parameters }) => ({
      name,
      label: name,
      description,
      parameters,
      async execute(callId: string, input: unknown) {
        return { content: [{ type: 'text', text: await work({ callId, tool: name, input }, signal) }], details: {} }
      },
    }))
    const agent = new Agent({ initialState: { model, tools: made }, streamFn: streamSimple, getApiKey: () => 'none' })
    signal.addEventListener('abort', () => agent.abort(), { once: true })
    watch(agent)
    await agent.prompt(prompt)
    const { messages, errorMessage } = agent.state
    if (errorMessage !== undefined) throw new Error(errorMessage)
    return textOf(messages.at(-1))
  }
}

function textOf(message: PiMessage | undefined): string {
  if (typeof message?.content === 'string') return message.content
  return (message?.content ?? []).map(({ text = '' }) => text).join('')
}
