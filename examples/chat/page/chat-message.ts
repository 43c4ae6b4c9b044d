import type { ChatMetadata } from '@meanwhile/ui/ai-sdk'
import type { UIMessage } from 'ai'

/** What the server tells of a call while it goes on, beside its card. */
export interface CallState {
  readonly toolCallId: string
  readonly state: 'running' | 'settled'
  /** The model is still speaking. */
  readonly isEarly: boolean
}

export type ChatMessage = UIMessage<ChatMetadata, { call: CallState }>
export type ChatPart = ChatMessage['parts'][number]
export type CardPart = Extract<ChatPart, { type: 'dynamic-tool' }>
