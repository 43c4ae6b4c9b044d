/** A page with plain `useChat` of React, and the component for questions of the documentation. */

import { useChat } from '@ai-sdk/react'
import { type ChatMessage, hasAllAnswers } from '@meanwhile/ui/ai-sdk'
import { threadTransport } from '@meanwhile/ui/thread-transport'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { ChatQuestions } from '../../../../examples/chat-questions.tsx'
import { choose, FILE, loadedMessages, thread } from './page.ts'

const loaded = await loadedMessages()
const transport = threadTransport<ChatMessage>({ api: '/api/chat', loaded })

function Page() {
  const [text, setText] = useState('')
  const chat = useChat<ChatMessage>({
    id: thread,
    messages: loaded,
    resume: true,
    transport,
    sendAutomaticallyWhen: hasAllAnswers,
    onToolCall({ toolCall: { toolName, toolCallId } }) {
      if (toolName === 'choose')
        void chat.addToolOutput({ tool: 'choose', toolCallId, output: choose(toolCallId) as never })
    },
  })
  const { messages, status, error, sendMessage, setMessages, regenerate, stop, addToolApprovalResponse } = chat
  window.shown = messages
  const first = messages.find(({ role }) => role === 'user')?.id ?? ''
  const actions = {
    Send: () => sendMessage({ text }),
    Attach: () => sendMessage({ text, files: [FILE] }),
    Edit: () => sendMessage({ text, messageId: first }),
    Cut: () => {
      setMessages([])
      return sendMessage({ text })
    },
    Stop: stop,
    'Try again': () => regenerate(),
  }
  return (
    <main>
      <output>{error ? error.message : status}</output>
      {messages.map((message) => (
        <article key={message.id}>
          {message.parts.map((part, index) => {
            const key = `${message.id}-${index}`
            if (part.type === 'text') return <p key={key}>{part.text}</p>
            if (part.type !== 'dynamic-tool') return null
            const answer = (approved: boolean) => () =>
              void addToolApprovalResponse({
                id: part.approval?.id ?? '',
                approved,
                ...(!approved && { reason: 'No.' }),
              })
            return (
              <section key={key}>
                {part.toolName} {part.state} {'preliminary' in part && part.preliminary && 'preliminary'}{' '}
                {JSON.stringify(part.output ?? null)}
                {part.state === 'approval-requested' && (
                  <>
                    <button type="button" onClick={answer(true)}>
                      Allow
                    </button>
                    <button type="button" onClick={answer(false)}>
                      Deny
                    </button>
                  </>
                )}
              </section>
            )
          })}
          <ChatQuestions
            message={message}
            onAnswer={(id, given) => void sendMessage(undefined, { body: { answers: { [id]: given } } })}
          />
        </article>
      ))}
      <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      {Object.entries(actions).map(([name, act]) => (
        <button key={name} type="button" onClick={() => void act()}>
          {name}
        </button>
      ))}
    </main>
  )
}

createRoot(document.body).render(<Page />)
