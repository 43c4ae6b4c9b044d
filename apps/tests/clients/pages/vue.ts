/** A page with `Chat` of the AI SDK for Vue. */

import { Chat } from '@ai-sdk/vue'
import type { ChatMessage } from '@meanwhile/ui/ai-sdk'
import { createApp, h, ref } from 'vue'
import { FILE } from './file.ts'
import { choose } from './page.ts'
import { answerTo, CHANGED, THREAD } from './thread-chat.ts'

// The client has its own version of `ai`, with other types.
const chat = new Chat({
  ...Object(THREAD),
  onToolCall({ toolCall: { toolName, toolCallId } }) {
    if (toolName === 'choose')
      void chat.addToolOutput({ tool: 'choose', toolCallId, output: choose(toolCallId) as never })
  },
})
void chat.resumeStream()
const text = ref('')
let branch = chat.messages
const button = (name: string, onClick: () => unknown) => h('button', { onClick: () => void onClick() }, name)

function card(part: Extract<ChatMessage['parts'][number], { type: 'dynamic-tool' }>) {
  const { toolName, state, preliminary, output = null, approval } = { preliminary: false, ...part }
  const answer = (approved: boolean) =>
    chat.addToolApprovalResponse({ id: approval?.id ?? '', approved, ...(!approved && { reason: 'No.' }) })
  const asks = state === 'approval-requested'
  return h('section', [
    `${toolName} ${state} ${preliminary ? 'preliminary' : ''} ${JSON.stringify(output)}`,
    ...(asks ? [button('Allow', () => answer(true)), button('Deny', () => answer(false))] : []),
    ...(asks ? [button('Change', () => give(approval?.id ?? '', CHANGED))] : []),
  ])
}

const asked = (message: ChatMessage) =>
  (message.metadata?.questions ?? []).filter(({ payload }) => Object(payload).question !== undefined)

createApp({
  render() {
    const { status, error } = chat
    const messages: readonly ChatMessage[] = Object(chat.messages)
    window.shown = messages
    return h('main', [
      h('output', error ? error.message : status),
      ...messages.map((message) =>
        h('article', { key: message.id }, [
          ...message.parts.map((part) =>
            part.type === 'text' ? h('p', part.text) : part.type === 'dynamic-tool' ? card(part) : undefined,
          ),
          ...asked(message).map(({ id, payload }) =>
            h('form', { onSubmit: (event: SubmitEvent) => answered(id, event) }, [
              Object(payload).question,
              h('input', { name: 'count', 'aria-label': 'count', type: 'number' }),
              h('button', 'Answer'),
            ]),
          ),
        ]),
      ),
      h('input', {
        'aria-label': 'Message',
        value: text.value,
        onInput: (event: InputEvent) => {
          text.value = (event.target as HTMLInputElement).value
        },
      }),
      button('Send', () => chat.sendMessage({ text: text.value })),
      button('Attach', () => chat.sendMessage({ text: text.value, files: [FILE] })),
      button('Edit', () => chat.sendMessage({ text: text.value, messageId: messages[0]?.id ?? '' })),
      button('Cut', () => {
        chat.messages = chat.messages.slice(
          0,
          chat.messages.findLastIndex(({ role }) => role === 'user'),
        )
        return chat.sendMessage({ text: text.value })
      }),
      button('Stop', () => chat.stop()),
      button('Try again', () => {
        branch = chat.messages
        return chat.regenerate()
      }),
      button('Back', () => {
        chat.messages = branch
      }),
    ])
  },
}).mount(document.body)

function answered(id: string, event: SubmitEvent): void {
  event.preventDefault()
  const count = Number(new FormData(event.currentTarget as HTMLFormElement).get('count'))
  give(id, { count })
}

function give(id: string, answer: unknown): void {
  void chat.sendMessage(undefined, answerTo(id, answer))
}
