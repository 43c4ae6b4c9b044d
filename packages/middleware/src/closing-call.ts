/** The last model call of a run: it must answer, without tools. */

import { type AssistantMessage, close, type ModelFlow, type ModelRequest, textOf } from '@meanwhile/core'

/** What the model reads before its closing answer, unless the user says otherwise. */
export const DEFAULT_INSTRUCTION =
  'No more tool calls are possible. Give your final answer now, from what you know so far.'

/**
 * Asks for an answer without calls (F4, F5): what the model calls all the same is neither told of nor in the message. If no text is
 * left, it throws what `noAnswer` gives.
 */
export async function* closingCall(
  request: ModelRequest,
  next: (request: ModelRequest) => ModelFlow,
  noAnswer: () => Error,
): ModelFlow {
  // Providers refuse tool messages in a history without tool definitions.
  const tools = request.messages.some((message) => message.role === 'tool') ? request.tools : []
  const flow = next({ ...request, tools, toolChoice: 'none' })
  try {
    for (;;) {
      const step = await flow.next()
      if (step.done) return withoutCalls(step.value, noAnswer)
      if (step.value.type?.startsWith('tool-')) continue
      yield step.value
    }
  } finally {
    await close(flow)
  }
}

function withoutCalls(message: AssistantMessage, noAnswer: () => Error): AssistantMessage {
  const answer = { ...message, content: message.content.filter((part) => part.type !== 'tool-call') }
  if (textOf(answer).trim() === '') throw noAnswer()
  return answer
}
