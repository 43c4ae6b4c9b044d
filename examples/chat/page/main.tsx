/** The page: reads the thread that the address names, and shows it. */

import { Chat } from '@ai-sdk/react'
import {
  lastAssistantMessageIsCompleteWithApprovalResponses as hasAllApprovals,
  lastAssistantMessageIsCompleteWithToolCalls as hasAllOutputs,
} from 'ai'
import { createRoot } from 'react-dom/client'
import type { ChatMessage } from './chat-message.ts'
import { ChatView } from './chat-view.tsx'
import { HeadStarts } from './head-starts.ts'
import { readThread } from './read-thread.ts'
import './style.css'

addEventListener('hashchange', () => location.reload())
const id = location.hash.slice(1) || crypto.randomUUID()
history.replaceState(null, '', `#${id}`)

const headStarts = new HeadStarts()
const chat = new Chat<ChatMessage>({
  id,
  messages: await readThread(id),
  sendAutomaticallyWhen: (now) => hasAllApprovals(now) || hasAllOutputs(now),
  onData: (part) => part.type === 'data-call' && headStarts.hear(part.data),
  onToolCall: ({ toolCall }) => headStarts.stands(toolCall.toolCallId),
})
// For the console of the browser, and for tests.
Object.assign(globalThis, { chat })

const root = document.getElementById('root')
if (root) createRoot(root).render(<ChatView chat={chat} headStarts={headStarts} />)
