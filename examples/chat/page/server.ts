/** What the page asks the server, besides the requests of `useChat`. */

import type { ChatMessage } from '@meanwhile/ui/ai-sdk'
import { earlyTools } from './kept.ts'

/** @throws {Error} The server has refused it; the message is its sentence. */
export async function get<Answer>(path: string): Promise<Answer> {
  const response = await fetch(path)
  if (!response.ok) throw new Error(await response.text())
  return response.json()
}

/** The messages of a thread, and those in its queue. */
export async function readThread(id: string) {
  const { messages } = await get<{ readonly messages: readonly ChatMessage[] }>(`/api/chat/${encodeURIComponent(id)}`)
  const isQueued = ({ metadata }: ChatMessage) => metadata?.queued === true
  return { messages: messages.filter((one) => !isQueued(one)), queued: messages.filter(isQueued) }
}

/** @throws {Error} The server has refused it. */
export async function post(path: string, body: unknown): Promise<void> {
  const headers = { ...earlyTools.headers(), 'content-type': 'application/json' }
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`${path}: ${response.status}`)
}
