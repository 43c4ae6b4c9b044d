/** A page with a runtime of assistant-ui. Its buttons call what the buttons of assistant-ui call. */

import { type AssistantRuntime, AssistantRuntimeProvider, type ThreadMessage, type Tool } from '@assistant-ui/react'
import type { ChatMessage } from '@meanwhile/ui/ai-sdk'
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { ChatQuestions } from '../../../../examples/chat-questions.tsx'
import { cardText } from './ag-ui-messages.ts'
import { FILE } from './file.ts'
import { choose } from './page.ts'
import { approvalOf, Card, Composer } from './parts.tsx'

export interface Chat {
  readonly runtime: AssistantRuntime
  readonly error: string | undefined
  /** The messages whose questions it shows. */
  readonly asking: readonly ChatMessage[]
  /** Answers a question. */
  give(id: string, answer: unknown): void
  /** The messages that it shows, as its server has them. */
  shown(messages: readonly ThreadMessage[]): unknown
  /** Allows the call with another input. */
  change(part: Extract<Part, { type: 'tool-call' }>): void
}

type Part = ThreadMessage['content'][number]

const CHOOSE: Tool = {
  type: 'frontend',
  description: 'The page chooses.',
  parameters: { type: 'object', properties: {} },
  execute: async (_, { toolCallId }) => choose(toolCallId),
}

export function show(useChatOfClient: () => Chat): void {
  function Page() {
    const chat = useChatOfClient()
    return (
      <AssistantRuntimeProvider runtime={chat.runtime}>
        <Thread {...chat} />
      </AssistantRuntimeProvider>
    )
  }
  createRoot(document.body).render(<Page />)
}

function Thread({ runtime, error, asking, give, shown, change }: Chat) {
  const { thread } = runtime
  const [text, setText] = useState('')
  const { messages, isRunning } = useSyncExternalStore(
    (told) => thread.subscribe(told),
    () => thread.getState(),
  )
  window.shown = shown(messages)
  useEffect(
    () => runtime.registerModelContextProvider({ getModelContext: () => ({ tools: { choose: CHOOSE } }) }),
    [runtime],
  )

  async function edit(index: number) {
    const { composer } = thread.getMessageByIndex(index)
    composer.beginEdit()
    composer.setText(text)
    composer.send()
  }
  const actions = {
    Send() {
      thread.composer.setText(text)
      thread.composer.send()
    },
    async Attach() {
      const bytes = await (await fetch(FILE.url)).blob()
      await thread.composer.addAttachment(new File([bytes], FILE.filename, { type: FILE.mediaType }))
      thread.composer.setText(text)
      thread.composer.send()
    },
    Edit: () => edit(0),
    Cut: () => edit(messages.findLastIndex(({ role }) => role === 'user')),
    Stop: () => thread.cancelRun(),
    'Try again': () => thread.getMessageByIndex(messages.findIndex(isAnswer)).reload(),
    Back: () => thread.getMessageByIndex(messages.length - 1).switchToBranch({ position: 'previous' }),
  }

  /** The first message of the assistant after the last one of the user. */
  function isAnswer(_: ThreadMessage, index: number): boolean {
    return index === messages.findLastIndex(({ role }) => role === 'user') + 1
  }

  function card(message: ThreadMessage, part: Extract<Part, { type: 'tool-call' }>): ReactNode {
    const { toolCallId, toolName, result, isError, approval } = part
    const answer = (approved: boolean) =>
      thread
        .getMessageById(message.id)
        .getMessagePartByToolCallId(toolCallId)
        .respondToToolApproval(approvalOf(approved))
    return (
      <Card
        key={toolCallId}
        text={cardText({ toolName, state: stateOf(part), output: isError ? null : (result ?? null) })}
        asks={approval !== undefined && approval.approved === undefined && result === undefined}
        onAnswer={(approved) => void answer(approved)}
        onChange={() => change(part)}
      />
    )
  }

  return (
    <main>
      <output>{error ?? (isRunning ? 'busy' : 'ready')}</output>
      {messages.map((message) => (
        <article key={message.id}>
          {message.content.map((part, index) => {
            const key = `${message.id}-${index}`
            if (part.type === 'text') return <p key={key}>{part.text}</p>
            return part.type === 'tool-call' ? card(message, part) : null
          })}
        </article>
      ))}
      {asking.map((message) => (
        <ChatQuestions key={message.id} message={message} onAnswer={give} />
      ))}
      <Composer text={text} onText={setText} actions={actions} />
    </main>
  )
}

function stateOf({ result, isError, approval }: Extract<Part, { type: 'tool-call' }>): string {
  if (approval?.approved === false && result !== undefined) return 'output-denied'
  if (isError) return result === 'This call was denied.' ? 'output-denied' : 'output-error'
  if (result !== undefined) return 'output-available'
  if (!approval) return 'input-available'
  return approval.approved === undefined ? 'approval-requested' : 'approval-responded'
}
