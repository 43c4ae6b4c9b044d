// The page of a chat, with `useChat` of the AI SDK: text, tool calls, approval, questions of tools and "try again". Its server is `chat-ui.ts`.

import { useChat } from '@ai-sdk/react'
import { type ChatMessage, hasAllAnswers } from '@meanwhile/ui/ai-sdk'
import { threadTransport } from '@meanwhile/ui/thread-transport'
import { type FormEvent, useState } from 'react'
import { ChatQuestions } from './chat-questions.tsx'

interface ChatPageProps {
  readonly id: string
  /** The messages that `GET /api/chat/:id` returned. */
  readonly loaded: ChatMessage[]
}

export function ChatPage({ id, loaded }: ChatPageProps) {
  const { messages, sendMessage, regenerate, addToolApprovalResponse } = useChat<ChatMessage>({
    id,
    messages: loaded, // from GET /api/chat/:id
    resume: true,
    transport: threadTransport({ api: '/api/chat', loaded }),
    sendAutomaticallyWhen: hasAllAnswers,
  })
  const answer = (id: string, given: unknown) => void sendMessage(undefined, { body: { answers: { [id]: given } } })
  const [text, setText] = useState('')
  const send = (event: FormEvent) => {
    event.preventDefault()
    void sendMessage({ text })
    setText('')
  }
  return (
    <main>
      {messages.map((message) => (
        <article key={message.id}>
          {message.parts.map((part, index) => {
            const key = `${message.id}-${index}` // parts are only appended, or removed from the end
            if (part.type === 'text') return <p key={key}>{part.text}</p>
            if (part.type !== 'dynamic-tool') return null
            return (
              <section key={key}>
                {part.title ?? part.toolName}: {part.state}
                <pre>{JSON.stringify(part.input, undefined, 2)}</pre>
                {part.state === 'approval-requested' && (
                  <button
                    type="button"
                    onClick={() => void addToolApprovalResponse({ id: part.approval.id, approved: true })}
                  >
                    Allow
                  </button>
                )}
              </section>
            )
          })}
          <ChatQuestions message={message} onAnswer={answer} />
          {message.metadata?.status === 'failed' && (
            <button type="button" onClick={() => void regenerate()}>
              Try again
            </button>
          )}
        </article>
      ))}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      </form>
    </main>
  )
}
