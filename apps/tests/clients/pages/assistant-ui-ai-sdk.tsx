/** A page with assistant-ui and its runtime for the AI SDK. */

import { useChat } from '@ai-sdk/react'
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk'
import { type ChatMessage, hasAllAnswers } from '@meanwhile/ui/ai-sdk'
import { threadTransport } from '@meanwhile/ui/thread-transport'
import { type Chat, show } from './assistant-ui.tsx'
import { loadedMessages, thread } from './page.ts'

const loaded = await loadedMessages()
const transport = threadTransport<ChatMessage>({ api: '/api/chat', loaded })

show((): Chat => {
  const chat = useChat<ChatMessage>({
    id: thread,
    messages: loaded,
    resume: true,
    transport,
    sendAutomaticallyWhen: hasAllAnswers,
  })
  const give = (id: string, answer: unknown) =>
    void chat.sendMessage(undefined, { body: { answers: { [id]: answer } } })
  const asked = chat.messages.at(-1)?.metadata?.questions ?? []
  return {
    runtime: useAISDKRuntime(chat),
    error: chat.error?.message,
    shown: () => chat.messages,
    questions: asked.flatMap(({ id, payload }) => {
      const { question } = Object(payload)
      return typeof question === 'string' ? [{ text: question, answer: (given: unknown) => give(id, given) }] : []
    }),
    change: ({ approval }) => give(approval?.id ?? '', { decision: 'edit', input: { to: 'eve' } }),
  }
})
