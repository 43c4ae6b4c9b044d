/** What `useChat` leaves to the page: a queue, a stop on the server, and the way back after a lost connection. */

import { type Chat, useChat } from '@ai-sdk/react'
import type { ChatMessage } from '@meanwhile/ui/ai-sdk'
import { useCallback, useEffect, useRef, useState } from 'react'
import { post, readThread } from './server.ts'

export type Conversation = ReturnType<typeof useConversation>

export const textOf = ({ parts }: ChatMessage): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

export function useConversation(chat: Chat<ChatMessage>, waiting: readonly ChatMessage[]) {
  const { id, messages, status, error, setMessages, resumeStream, ...doing } = useChat({ chat, resume: true })
  const [queued, setQueued] = useState(waiting)
  const queueing = useRef(Promise.resolve())
  const last = messages.at(-1)
  const { status: turn } = last?.metadata ?? {}
  const isLost = error instanceof TypeError
  const hasChanged = error !== undefined && !isLost && turn !== 'failed'
  const isReading = status === 'submitted' || status === 'streaming'
  const hasNext = queued.length > 0 && turn !== 'waiting'
  const isBusy = isReading || hasNext

  const load = useCallback(async () => {
    await queueing.current
    const thread = await readThread(id)
    setMessages(thread.messages)
    setQueued(thread.queued)
  }, [id, setMessages])

  // The turn continues without the page, which then reads on; or the next message of the queue has begun its turn; or the server has refused
  // something, mostly because the user has answered a question, or sent a message, in another tab.
  const isBehind = isLost || hasChanged || (hasNext && !isReading)
  useEffect(() => {
    if (!isBehind) return
    const isAway = error instanceof TypeError
    const follow = async () => {
      // A server that refuses this as well is asked again after a while.
      if (!isAway) await load().catch(() => new Promise((resolve) => setTimeout(resolve, 1_000)))
      await resumeStream()
      // No turn is running: it ended while the server was away, or the message never arrived there.
      if (isAway && chat.status === 'ready') await load().catch(() => undefined)
    }
    const soon = setTimeout(() => void follow(), isAway ? 1_000 : 0)
    return () => clearTimeout(soon)
  }, [chat, isBehind, error, load, resumeStream])

  // A turn that goes on after a crash is streamed from its beginning: until that is as long, the page shows what it had.
  const [had, setHad] = useState<ChatMessage>()
  if (isLost && had !== last) setHad(last)
  const isShorter = had && last && isBusy && had.id === last.id && sizeOf(last) < sizeOf(had)

  async function queue(text: string): Promise<void> {
    const message: ChatMessage = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] }
    const sent = post('/api/chat', { id, messages: [message] })
    const show = () => setQueued((now) => [...now, message])
    queueing.current = sent.then(show, () => undefined)
    return sent
  }

  return {
    ...doing,
    id,
    messages: isShorter ? messages.with(-1, had) : messages,
    queued,
    last,
    isBusy,
    isLost,
    hasChanged,
    isPending: status === 'submitted' && last?.role === 'user',
    /** While a turn runs the message waits; that rejects if the server did not get it. */
    async say(text: string): Promise<void> {
      if (isBusy) return queue(text)
      await doing.sendMessage({ text })
      // A message instead of an answer closes the question. The stream of the new turn does not contain that.
      if (turn === 'waiting') await load()
    },
    /** Takes a message out of the queue. If its turn has begun, it stays. */
    async remove({ id: messageId }: ChatMessage): Promise<void> {
      await queueing.current
      const leave = () => setQueued((now) => now.filter((one) => one.id !== messageId))
      await post(`/api/chat/${id}/drop`, { messageId }).then(leave, () => undefined)
    },
    /** `stop()` of `useChat` would only stop reading. Returns what was in the queue: it is not sent any more. */
    async stop(): Promise<string> {
      await queueing.current
      await post(`/api/chat/${id}/stop`, { queue: 'drop' })
      setQueued([])
      return queued.map(textOf).join('\n')
    },
  }
}

const sizeOf = ({ parts }: ChatMessage): number => JSON.stringify(parts).length
