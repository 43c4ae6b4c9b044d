/** OpenAI Agents: a run of an agent, streamed or not. */

import { type Driver, exportsOf } from '../driver.ts'

interface AgentsModule {
  readonly Agent: new (settings: object) => object
  readonly OpenAIProvider: new (settings: object) => object
  readonly Runner: new (
    settings: object,
  ) => {
    run(agent: object, prompt: string, options: object): Promise<StreamedRun>
  }
  tool(settings: object): object
}

interface StreamedRun extends AsyncIterable<unknown> {
  readonly completed: Promise<void>
  readonly finalOutput?: unknown
}

interface Details {
  readonly toolCall?: { readonly callId: string }
}

export const openaiAgents: Driver = async (load) => {
  const names = ['Agent', 'OpenAIProvider', 'Runner', 'tool'] as const
  const { Agent, OpenAIProvider, Runner, tool } = await exportsOf<AgentsModule>(load, '@openai/agents', names)
  return async ({ wire, url, prompt, tools, work, signal, loop, dropIn }) => {
    const modelProvider = new OpenAIProvider({
      apiKey: 'none',
      baseURL: `${url}/v1`,
      useResponses: wire === 'openai-responses',
    })
    const agent = new Agent({
      name: 'bench',
      model: 'scripted',
      tools: tools.map(({ name, description, schema: parameters }) =>
        tool({
          name,
          description,
          parameters,
          strict: false,
          execute: (input: unknown, _: unknown, details?: Details) =>
            work({ callId: details?.toolCall?.callId ?? '', tool: name, input }, signal),
        }),
      ),
    })
    const runner = dropIn(new Runner({ modelProvider, tracingDisabled: true }))
    const isStreamed = loop !== 'run'
    const run = await runner.run(agent, prompt, { stream: isStreamed, maxTurns: 100, signal })
    if (isStreamed) {
      for await (const _ of run);
      await run.completed
    }
    return typeof run.finalOutput === 'string' ? run.finalOutput : ''
  }
}
