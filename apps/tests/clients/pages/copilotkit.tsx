/** A page with CopilotKit, without its runtime: its agent is our door. Its buttons call what the buttons of CopilotKit call. */

import type { Interrupt, Message } from '@ag-ui/client'
import { CopilotKitProvider, useAgent, useCopilotKit, useFrontendTool, useInterrupt } from '@copilotkit/react-core/v2'
import type { ChatMessage } from '@meanwhile/ui/ai-sdk'
import { type ReactNode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'
import { ChatQuestions } from '../../../../examples/chat-questions.tsx'
import { asksApproval, cardText, shownMessages } from './ag-ui-messages.ts'
import { withFile } from './file.ts'
import { choose } from './page.ts'
import { approvalOf, Card, Composer } from './parts.tsx'
import { agent as threadAgent } from './thread-agent.ts'

interface Asked {
  readonly interrupts: readonly Interrupt[]
  answer(payload: unknown, id: string): void
}

function Chat(): ReactNode {
  useFrontendTool({
    name: 'choose',
    description: 'The page chooses.',
    parameters: z.object({}),
    handler: async (_, { toolCall }) => choose(toolCall.id),
  })
  const asking = useInterrupt({
    renderInChat: false,
    render: ({ interrupts, resolve }) => (
      <Thread interrupts={Object(interrupts)} answer={(payload, id) => void resolve(payload, id)} />
    ),
  })
  return asking ?? <Thread interrupts={[]} answer={() => undefined} />
}

function Thread({ interrupts, answer }: Asked): ReactNode {
  const { agent } = useAgent()
  const { copilotkit } = useCopilotKit()
  const [text, setText] = useState('')
  const [error, setError] = useState('')
  const [branch, setBranch] = useState<typeof agent.messages>([])
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set())
  const { messages } = agent
  window.shown = messages

  function run(forwardedProps?: Record<string, unknown>) {
    setError('')
    return copilotkit.runAgent({ agent, ...(forwardedProps && { forwardedProps }) })
  }

  useEffect(() => {
    const { unsubscribe } = copilotkit.subscribe({ onError: (told) => setError(told.error.message) })
    // The server has the history: a run without a message gets it, and the running turn.
    void copilotkit.runAgent({ agent })
    return unsubscribe
  }, [copilotkit, agent])

  function give(payload: unknown, id: string) {
    setAnswered(new Set([...answered, id]))
    answer(payload, id)
  }

  function say(content: Message['content'], before = messages.length) {
    agent.setMessages(messages.slice(0, before))
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content } as never)
  }

  const lastOfUser = messages.findLastIndex(({ role }) => role === 'user')
  const actions = {
    Send() {
      say(text)
      return run()
    },
    Attach() {
      say(withFile(text) as Message['content'])
      return run()
    },
    Edit() {
      const rewind = messages[0]?.id
      say(text, 0)
      return run({ rewind })
    },
    Cut() {
      say(text, lastOfUser)
      return run()
    },
    Stop: () => copilotkit.stopAgent({ agent }),
    'Try again'() {
      if (error) return run({ retry: true })
      setBranch(messages)
      agent.setMessages(messages.slice(0, lastOfUser + 1))
      return run()
    },
    Back: () => agent.setMessages([...branch]),
  }

  function card(shown: Parameters<typeof cardText>[0], id: string): ReactNode {
    const question = interrupts.find((one) => asksApproval(one) && one.toolCallId === id)?.id ?? ''
    return (
      <Card
        key={id}
        text={cardText(shown)}
        asks={shown.state === 'approval-requested'}
        onAnswer={(approved) => give(approvalOf(approved), question)}
        onChange={() => give({ approved: true, editedArgs: { to: 'eve' } }, question)}
      />
    )
  }

  const questions = interrupts.flatMap((one) =>
    asksApproval(one)
      ? []
      : [{ id: one.id, payload: Object(one.metadata).payload, answerSchema: Object(one.responseSchema) }],
  )
  const asked: ChatMessage = { id: 'asked', role: 'assistant', parts: [], metadata: { status: 'waiting', questions } }
  return (
    <main>
      <output>{error || (agent.isRunning ? 'busy' : 'ready')}</output>
      {shownMessages(Object(messages), interrupts, answered).map((message) => (
        <article key={message.id}>
          {message.text !== '' && <p>{message.text}</p>}
          {message.cards.map((shown) => card(shown, shown.id))}
        </article>
      ))}
      <ChatQuestions message={asked} onAnswer={(id, payload) => give(payload, id)} />
      <Composer text={text} onText={setText} actions={actions} />
    </main>
  )
}

createRoot(document.body).render(
  <CopilotKitProvider selfManagedAgents={{ default: Object(threadAgent) }}>
    <Chat />
  </CopilotKitProvider>,
)
