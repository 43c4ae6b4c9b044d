/** A published client of AG-UI, as far as tests use it: in all versions alike. */

export interface AgUiClient {
  readonly state: unknown
  readonly messages: readonly {
    readonly id: string
    readonly role: string
    readonly content?: unknown
    readonly error?: unknown
    readonly toolCalls?: readonly { readonly id: string }[] | undefined
  }[]
  say(content: string, id?: string): Promise<void>
  /** Runs it as a page does that has executed the last call itself. */
  giveResult(content: string): Promise<void>
  /** Answers the open questions. */
  answer(payload: object): Promise<void>
  run(): Promise<void>
}

export interface AgUiVersion {
  readonly version: string
  client(url: string, threadId: string): AgUiClient
}

/** What every version has. */
interface HttpAgent {
  readonly state: unknown
  readonly messages: AgUiClient['messages']
  addMessage(message: { id: string; role: 'user'; content: string }): void
  addMessage(message: { id: string; role: 'tool'; toolCallId: string; content: string }): void
  runAgent(parameters: {
    tools?: { name: string; description: string; parameters: object }[]
    resume?: { interruptId: string; status: 'resolved'; payload: object }[]
  }): Promise<unknown>
  subscribe(subscriber: { onEvent(params: { event: object }): void }): unknown
}

type HttpAgentClass = new (options: { url: string; threadId: string }) => HttpAgent

export function agUiVersion(version: string, Agent: HttpAgentClass): AgUiVersion {
  return {
    version,
    client(url, threadId) {
      const agent = new Agent({ url, threadId })
      let questions: readonly string[] = []
      agent.subscribe({
        onEvent({ event }) {
          const { type, outcome } = event as { type?: string; outcome?: { interrupts?: readonly { id: string }[] } }
          if (type === 'RUN_FINISHED') questions = (outcome?.interrupts ?? []).map(({ id }) => id)
        },
      })
      const run = async (parameters: Parameters<HttpAgent['runAgent']>[0] = {}) =>
        void (await agent.runAgent(parameters))
      return {
        get messages() {
          return agent.messages
        },
        get state() {
          return agent.state
        },
        run: () => run(),
        say(content, id = crypto.randomUUID()) {
          agent.addMessage({ id, role: 'user', content })
          return run()
        },
        giveResult(content) {
          const toolCallId = agent.messages.findLast(({ toolCalls }) => toolCalls)?.toolCalls?.at(-1)?.id ?? ''
          agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content })
          return run({ tools: [{ name: 'choose', description: 'The user chooses.', parameters: {} }] })
        },
        answer: (payload) =>
          run({ resume: questions.map((interruptId) => ({ interruptId, status: 'resolved', payload })) }),
      }
    },
  }
}
