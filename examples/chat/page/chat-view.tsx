import { type Chat, useChat } from '@ai-sdk/react'
import { useEffect, useRef } from 'react'
import type { ChatMessage } from './chat-message.ts'
import { Composer } from './composer.tsx'
import type { HeadStarts } from './head-starts.ts'
import { AssistantMessage, UserMessage } from './messages.tsx'
import { readThread } from './read-thread.ts'

const SUGGESTIONS = [
  'What is the weather in Rome and Oslo?',
  'Write a mail to ada@example.org.',
  'Where shall we have dinner?',
  'Tell me a story.',
]

export function ChatView({ chat, headStarts }: { readonly chat: Chat<ChatMessage>; readonly headStarts: HeadStarts }) {
  const { id, messages, status, error, setMessages, resumeStream, ...doing } = useChat({ chat, resume: true })
  const isBusy = status === 'submitted' || status === 'streaming'
  const last = messages.at(-1)
  const hasFailed = last?.metadata?.status === 'failed'
  const isLost = error instanceof TypeError

  // The turn goes on without the page, which comes back to it; or somebody has answered, or said more, in another tab.
  useEffect(() => {
    if (!error || hasFailed) return
    const comeBack = async () => {
      if (!isLost) setMessages(await readThread(id))
      await resumeStream()
    }
    const again = setTimeout(() => void comeBack(), isLost ? 1_000 : 0)
    return () => clearTimeout(again)
  }, [error, hasFailed, isLost, id, setMessages, resumeStream])

  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (messages.length > 0) end.current?.scrollIntoView({ block: 'end' })
  }, [messages])

  async function say(text: string) {
    const wasAsked = last?.metadata?.status === 'waiting'
    await doing.sendMessage({ text })
    // Who writes instead of answering closes the question, which the stream of the new turn does not tell.
    if (wasAsked) setMessages(await readThread(id))
  }
  // `stop()` of `useChat` would only stop reading.
  const stop = () => void fetch(`/api/chat/${id}/stop`, { method: 'POST' })

  return (
    <>
      <header>
        <h1>Meanwhile</h1>
        <a href="/">New chat</a>
      </header>
      <main aria-live="polite" aria-busy={isBusy}>
        {messages.length === 0 && (
          <section className="welcome">
            <h2>Tools start while the model is still speaking.</h2>
            <p>Stop, edit, reload the page, or kill the server in the middle: the conversation goes on.</p>
            <ul>
              {SUGGESTIONS.map((text) => (
                <li key={text}>
                  <button type="button" onClick={() => void say(text)}>
                    {text}
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )}
        {messages.map((message) =>
          message.role === 'user' ? (
            <UserMessage
              key={message.id}
              message={message}
              canEdit={!isBusy}
              onEdit={(text) => void doing.sendMessage({ text, messageId: message.id })}
            />
          ) : (
            <AssistantMessage
              key={message.id}
              message={message}
              headStarts={headStarts}
              isAsking={message === last && !isBusy}
              onApprove={(given) => void doing.addToolApprovalResponse(given)}
              onOutput={(toolCallId, output) => void doing.addToolOutput({ tool: 'choose', toolCallId, output })}
            />
          ),
        )}
        {status === 'submitted' && <p className="note pulse">Thinking …</p>}
        {isLost && <p className="note">The server does not answer. Trying again …</p>}
        {error && !isLost && !hasFailed && <p className="note">The conversation has changed meanwhile.</p>}
        {last?.role === 'assistant' && !isBusy && last.metadata?.status !== 'waiting' && (
          <p className="note">
            {hasFailed && <span className="error">Something went wrong. </span>}
            {last.metadata?.status === 'stopped' && 'Stopped. '}
            <button type="button" className="quiet" onClick={() => void doing.regenerate()}>
              {hasFailed ? 'Try again' : 'Answer again'}
            </button>
          </p>
        )}
        <div className="end" ref={end} />
      </main>
      <footer>
        <Composer isBusy={isBusy} onSend={(text) => void say(text)} onStop={stop} />
      </footer>
    </>
  )
}
