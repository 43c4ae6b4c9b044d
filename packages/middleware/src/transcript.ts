/** Converts a history to text, for a model that reports on it instead of continuing it. */

import type { ContentPart, Message } from '@meanwhile/core'

/**
 * One paragraph per text, call and result, each beginning with its source. Reasoning is omitted; a file is shown by
 * name or type.
 */
export function transcript(messages: readonly Message[]): string {
  return messages.flatMap(paragraphs).join('\n\n')
}

function paragraphs(message: Message): string[] {
  if (message.role === 'user') return [`${message.origin ?? 'user'}: ${textOfParts(message.content)}`]
  if (message.role === 'tool')
    return [`${message.isError ? 'error' : 'result'} of ${message.name}: ${textOfParts(message.content)}`]
  return message.content.flatMap((part) => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [`assistant: ${part.text}`]
    return part.type === 'tool-call' ? [`call of ${part.name}: ${JSON.stringify(part.input)}`] : []
  })
}

function textOfParts(content: string | readonly ContentPart[]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.filename ?? part.mediaType}]`)).join('\n')
}
