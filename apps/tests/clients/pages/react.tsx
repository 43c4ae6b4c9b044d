/** A page with plain `useChat` of React, and the component for questions of the documentation. */

import { useChat } from '@ai-sdk/react'
import { type ChatMessage, hasAllAnswers } from '@meanwhile/ui/ai-sdk'
import { threadTransport } from '@meanwhile/ui/thread-transport'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { ChatQuestions } from '../../../../examples/chat-questions.tsx'
import { FILE } from './file.ts'
import { choose, loadedMessages, thread } from './page.ts'

const loaded = await loadedMessages()
const transport = threadTransport<ChatMessage>({ api: '/api/chat', loaded })

function Page() {
  const [text, setText] = useState('')
  const [branch, setBranch] = useState<ChatMessage[]>([])
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
  const give = (id: string, answer: unknown) => void sendMessage(undefined, { body: { answers: { [id]: answer } } })
  const change = (id: string) => give(id, { decision: 'edit', input: { to: 'eve' } })
  const actions = {
    Send: () => sendMessage({ text }),
    Attach: () => sendMessage({ text, files: [FILE] }),
    Edit: () => sendMessage({ text, messageId: first }),
    Cut: () => {
      setMessages(
        messages.slice(
          0,
          messages.findLastIndex(({ role }) => role === 'user'),
        ),
      )
      return sendMessage({ text })
    },
    Stop: stop,
    'Try again': () => {
      setBranch(messages)
      return regenerate()
    },
    Back: () => setMessages(branch),
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
                    <button type="button" onClick={() => change(part.approval.id)}>
                      Change
                    </button>
                  </>
                )}
              </section>
            )
          })}
          <ChatQuestions message={message} onAnswer={give} />
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
