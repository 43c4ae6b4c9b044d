/** The messages of a model among those of an agent. */

import { AIMessage } from '@langchain/core/messages'

export function callsOf(message: unknown): NonNullable<AIMessage['tool_calls']> {
  return AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []
}

export function lastAnswer(messages: unknown): AIMessage | undefined {
  if (!Array.isArray(messages)) return undefined
  return messages.findLast((message) => AIMessage.isInstance(message))
}
