/** `useChat` of React over a thread. */

import { type UseChatHelpers, useChat } from '@ai-sdk/react'
import type { ChatMessage } from '@meanwhile/ui/ai-sdk'
import { choose } from './page.ts'
import { answerTo, CHANGED, THREAD } from './thread-chat.ts'

export interface ThreadChat extends UseChatHelpers<ChatMessage> {
  give(id: string, answer: unknown): void
  change(id: string): void
}

/** `runsTools`: whether the page runs its tool itself, and not the client. */
export function useThreadChat({ runsTools }: { readonly runsTools: boolean }): ThreadChat {
  const chat = useChat<ChatMessage>({
    ...THREAD,
    resume: true,
    onToolCall({ toolCall: { toolName, toolCallId } }) {
      if (runsTools && toolName === 'choose')
        void chat.addToolOutput({ tool: 'choose', toolCallId, output: choose(toolCallId) as never })
    },
  })
  const give = (id: string, answer: unknown) => void chat.sendMessage(undefined, answerTo(id, answer))
  return { ...chat, give, change: (id) => give(id, CHANGED) }
}
