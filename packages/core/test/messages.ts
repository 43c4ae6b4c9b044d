/** Short forms of messages and their parts. */

import { type AssistantMessage, type Message, type ToolCall, textOf } from '../src/index.ts'

export const user = (content: string) => ({ role: 'user', content }) as const

export const answer = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})

export const toolCall = (id: string, name: string, input: unknown): ToolCall => ({ type: 'tool-call', id, name, input })

export const texts = (messages: readonly Message[]): string[] => messages.map(textOf)
