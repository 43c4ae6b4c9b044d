/** Converts a thread to UI messages: the same messages that a browser has after the streams of its turns. */

import type { Json, UserMessage } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import type { ThreadState } from '@meanwhile/threads'
import type { UIMessageChunk } from 'ai'
import type { Present } from '../present.ts'
import { turnsOfThread } from '../turn/thread-turns.ts'
import type { TurnUpdate } from '../turn/turn-update.ts'
import { UIChunks } from './chunks.ts'
import type { ChatMessage, ChatMetadata } from './message-metadata.ts'
import { shownUserMessage } from './user-message.ts'

/** The options of `toUIMessages`. */
export interface HistoryOptions extends Present {
  /** The major version of the `ai` package in the browser. Default 7. */
  readonly version?: 6 | 7
}

/** Returns a user message and an assistant message for each turn; the assistant message has the id of the turn. Queued messages are at the end, with `queued` in their metadata. */
export function toUIMessages(state: ThreadState, options: HistoryOptions = {}): ChatMessage[] {
  const messages = turnsOfThread(state).flatMap(({ updates }) => messagesOf(updates, options))
  const queued = state.queued.flatMap(({ id, message, display }) =>
    message.role === 'user' ? [queuedMessage(userMessage(id, message, display))] : [],
  )
  return [...messages, ...queued]
}

function messagesOf(updates: readonly TurnUpdate[], options: HistoryOptions): ChatMessage[] {
  const [start] = updates
  if (start?.type !== 'turn-start') return []
  const chunks = new UIChunks({ ...options, isHistory: true })
  const answer = messageOf(updates.flatMap((update) => chunks.of(update)))
  const said = start.message ? [userMessage(start.messageId ?? '', start.message, start.display)] : []
  return answer.parts.length > 0 ? [...said, answer] : said
}

/** Its metadata and data have the types that the page gave them. */
function userMessage(id: string, message: UserMessage, display: Json | undefined): ChatMessage {
  return { id, role: 'user', ...shownUserMessage(message, display) } as ChatMessage
}

/** Only metadata that are an object can have the mark. */
function queuedMessage({ metadata, ...message }: ChatMessage): ChatMessage {
  const own: unknown = metadata
  return { ...message, metadata: (isRecord(own) || own === undefined ? { ...own, queued: true } : own) as ChatMetadata }
}

type Part = ChatMessage['parts'][number]

/** The message that a client makes of the chunks of a complete turn. */
function messageOf(chunks: readonly UIMessageChunk[]): ChatMessage {
  const parts: Part[] = []
  /** The position of the newest card of each call. */
  const cards = new Map<string, number>()
  let stepAt = 0
  let id = ''
  let metadata: ChatMetadata | undefined
  const append = (part: Part) => void parts.push(part)
  const change = (callId: string, to: object) => {
    const index = cards.get(callId)
    const card = index === undefined ? undefined : parts[index]
    if (index === undefined || !card) return
    // A call that is sent again has no result any more.
    const {
      output: _,
      errorText: __,
      preliminary: ___,
      ...rest
    } = card as Part & { readonly output?: unknown; readonly errorText?: string; readonly preliminary?: boolean }
    parts[index] = { ...rest, ...to } as Part
  }
  for (const chunk of chunks) {
    switch (chunk.type) {
      case 'start':
        id = chunk.messageId ?? ''
        metadata = chunk.messageMetadata as ChatMetadata
        break
      case 'message-metadata':
        metadata = chunk.messageMetadata as ChatMetadata
        break
      case 'start-step':
        stepAt = parts.length
        append({ type: 'step-start' })
        break
      case 'text-delta':
        append({ type: 'text', text: chunk.delta, state: 'done' })
        break
      case 'reasoning-delta':
        append({ type: 'reasoning', id: chunk.id, text: chunk.delta, state: 'done' })
        break
      case 'tool-input-available': {
        const { toolCallId, toolName, title, toolMetadata, input, providerExecuted } = chunk
        // A client changes no card of an earlier step in this way.
        if ((cards.get(toolCallId) ?? -1) >= stepAt) {
          change(toolCallId, { state: 'input-available', input })
          break
        }
        cards.set(toolCallId, parts.length)
        append({
          type: 'dynamic-tool',
          toolName,
          toolCallId,
          ...(title !== undefined && { title }),
          ...(toolMetadata && { toolMetadata }),
          state: 'input-available',
          input,
          ...(providerExecuted && { providerExecuted }),
        })
        break
      }
      case 'tool-approval-request':
        change(chunk.toolCallId, { state: 'approval-requested', approval: { id: chunk.approvalId } })
        break
      case 'tool-approval-response': {
        const { approvalId: id, approved, reason } = chunk
        const place = parts.findIndex((part) => part.type === 'dynamic-tool' && part.approval?.id === id)
        const card = parts[place]
        const approval = { id, approved, ...(reason !== undefined && { reason }) }
        if (card) parts[place] = { ...card, state: 'approval-responded', approval } as Part
        break
      }
      case 'tool-output-available':
        change(chunk.toolCallId, {
          state: 'output-available',
          output: chunk.output,
          ...(chunk.preliminary && { preliminary: true }),
        })
        break
      case 'tool-output-denied':
        change(chunk.toolCallId, { state: 'output-denied' })
        break
      case 'tool-output-error':
        change(chunk.toolCallId, { state: 'output-error', errorText: chunk.errorText })
        break
      case 'steering-message':
        append({ type: 'steering-message', id: chunk.id, parts: chunk.parts })
        break
      case 'data-user-message':
      case 'data-steering':
        append({ type: chunk.type, ...(chunk.id !== undefined && { id: chunk.id }), data: chunk.data } as Part)
        break
    }
  }
  return { id, role: 'assistant', ...(metadata && { metadata }), parts }
}
