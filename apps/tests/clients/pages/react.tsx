/** A page with plain `useChat` of React, and the component for questions of the documentation. */

import type { ChatMessage } from '@meanwhile/ui/ai-sdk'
import { type ReactNode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { ChatQuestions } from '../../../../examples/chat-questions.tsx'
import { cardText } from './ag-ui-messages.ts'
import { FILE } from './file.ts'
import { approvalOf, Card, Composer } from './parts.tsx'
import { useThreadChat } from './use-thread-chat.ts'

function Page() {
  const [text, setText] = useState('')
  const [branch, setBranch] = useState<ChatMessage[]>([])
  const chat = useThreadChat({ runsTools: true })
  const { messages, status, error, sendMessage, setMessages, regenerate, stop, give } = chat
  window.shown = messages
  const first = messages.find(({ role }) => role === 'user')?.id ?? ''
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

  function shown(part: ChatMessage['parts'][number], key: string): ReactNode {
    if (part.type === 'text') return <p key={key}>{part.text}</p>
    if (part.type !== 'dynamic-tool') return null
    const { toolName, state, output = null, approval } = part
    const id = approval?.id ?? ''
    const isPreliminary = 'preliminary' in part && part.preliminary
    return (
      <Card
        key={key}
        text={cardText({ toolName, state: isPreliminary ? `${state} preliminary` : state, output })}
        asks={state === 'approval-requested'}
        onAnswer={(approved) => void chat.addToolApprovalResponse({ id, ...approvalOf(approved) })}
        onChange={() => chat.change(id)}
      />
    )
  }

  return (
    <main>
      <output>{error ? error.message : status}</output>
      {messages.map((message) => (
        <article key={message.id}>
          {message.parts.map((part, index) => shown(part, `${message.id}-${index}`))}
          <ChatQuestions message={message} onAnswer={give} />
        </article>
      ))}
      <Composer text={text} onText={setText} actions={actions} />
    </main>
  )
}

createRoot(document.body).render(<Page />)
