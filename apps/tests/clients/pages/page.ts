/** What a page of every client does in the same way: which chat it shows, and what tests read of it. */

import type { ChatMessage } from '@meanwhile/ui/ai-sdk'

declare global {
  interface Window {
    /** The messages that the page shows, and what it has run itself. */
    shown?: unknown
    ran: string[]
  }
}

window.ran = []

/** The address of the page ends with it. */
export const thread = location.hash.slice(1)

export async function loadedMessages(): Promise<ChatMessage[]> {
  const response = await fetch(`/api/chat/${thread}`)
  return ((await response.json()) as { messages: ChatMessage[] }).messages
}

/** A tool that the page runs. Returns its output. */
export function choose(toolCallId: string): string {
  window.ran.push(toolCallId)
  return 'red'
}
