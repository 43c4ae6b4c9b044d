/** What the page asks the server, besides the requests of `useChat`. */

import type { Times } from '../times.ts'
import type { ChatMessage } from './chat-message.ts'
import { earlyTools } from './kept.ts'

/** What the page shows of the server: whether a script plays the model, and where the devtools are, if they are on. */
export interface Setup {
  readonly isDemo: boolean
  readonly devtools?: string
}

/** @throws {Error} The server has refused it; the message is its sentence. */
async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  const response = await fetch(path, signal && { signal })
  if (!response.ok) throw new Error(await response.text())
  return response.json()
}

export const readSetup = () => get<Setup>('/api/setup')

export const readTimes = (turns: readonly string[], signal: AbortSignal) =>
  get<Record<string, Times>>(`/api/timelines?${new URLSearchParams(turns.map((turn) => ['turn', turn]))}`, signal)

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
