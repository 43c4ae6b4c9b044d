/** A chat over a thread, as pages of the AI SDK set it up. */

import { type ChatMessage, hasAllAnswers } from '@meanwhile/ui/ai-sdk'
import { threadTransport } from '@meanwhile/ui/thread-transport'
import { loadedMessages, thread } from './page.ts'

const loaded = await loadedMessages()

/** What every chat is made with. */
export const THREAD = {
  id: thread,
  messages: loaded,
  transport: threadTransport<ChatMessage>({ api: '/api/chat', loaded }),
  sendAutomaticallyWhen: hasAllAnswers,
}

/** Allows a call with another input. */
export const CHANGED = { decision: 'edit', input: { to: 'eve' } }

/** The options of `sendMessage` that answer a question by its id. */
export function answerTo(id: string, answer: unknown): { readonly body: object } {
  return { body: { answers: { [id]: answer } } }
}
