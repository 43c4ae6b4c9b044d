/** Makes the last model call of a run, which must answer without tool calls. */

import {
  type AssistantMessage,
  allowsCalls,
  close,
  type Flow,
  type ModelFlow,
  type ModelRequest,
  textOf,
} from '@meanwhile/core'

/** The default instruction that the model reads before its closing answer. */
export const DEFAULT_INSTRUCTION =
  'No more tool calls are possible. Give your final answer now, based on what you know so far.'

/**
 * Requests an answer without calls. If the model makes calls anyway, they are removed from the events and the message,
 * except a call that returns the output. If no text remains, it throws the error that `noAnswer` returns.
 */
export async function* closingCall(
  request: ModelRequest,
  next: (request: ModelRequest) => ModelFlow,
  noAnswer: () => Error,
): ModelFlow {
  // Providers reject tool messages in a history without tool definitions.
  const tools = request.messages.some((message) => message.role === 'tool') ? request.tools : []
  const isOther = otherCalls(request)
  const flow = next({ ...request, tools, toolChoice: 'none' })
  try {
    for (;;) {
      const step = await flow.next()
      if (step.done) return closingAnswer(step.value, request, noAnswer)
      if (!isOther(step.value)) yield step.value
    }
  } finally {
    await close(flow)
  }
}

/** Whether an event belongs to a call that is not allowed: any call except one that returns the output. */
function otherCalls({ output }: ModelRequest): (event: ModelFlowEvent) => boolean {
  const allowed = new Set<string>()
  return (event) => {
    if (!('id' in event || 'call' in event)) return false
    const { id } = 'call' in event ? event.call : event
    const name = 'call' in event ? event.call.name : 'name' in event ? event.name : undefined
    if (name !== undefined && name === output?.name) allowed.add(id)
    return !allowed.has(id)
  }
}

/** Returns the answer without forbidden calls. The final-answer gate checks whether it matches an output schema. */
function closingAnswer(message: AssistantMessage, { output }: ModelRequest, noAnswer: () => Error): AssistantMessage {
  const name = allowsCalls(message.finishReason) ? output?.name : undefined
  const answer = {
    ...message,
    content: message.content.filter((part) => part.type !== 'tool-call' || part.name === name),
  }
  if (!output && textOf(answer).trim() === '') throw noAnswer()
  return answer
}

type ModelFlowEvent = ModelFlow extends Flow<infer Event, AssistantMessage> ? Event : never
