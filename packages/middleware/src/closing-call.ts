/** The last model call of a run: it must answer, without tool calls. */

import {
  type AssistantMessage,
  allowsCalls,
  close,
  type Flow,
  type ModelFlow,
  type ModelRequest,
  textOf,
} from '@meanwhile/core'

/** What the model reads before its closing answer, unless the user says otherwise. */
export const DEFAULT_INSTRUCTION =
  'No more tool calls are possible. Give your final answer now, from what you know so far.'

/**
 * Asks for an answer without calls: what the model calls all the same is neither told of nor in the message; a call that
 * gives the output is no other. If no text is left, it throws what `noAnswer` gives.
 */
export async function* closingCall(
  request: ModelRequest,
  next: (request: ModelRequest) => ModelFlow,
  noAnswer: () => Error,
): ModelFlow {
  // Providers refuse tool messages in a history without tool definitions.
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

/** Whether an event is of a call that may not be: of any but one that gives the output. */
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

/** The answer without the calls that may not be. Whether it fits an output schema is the gate's to say. */
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
