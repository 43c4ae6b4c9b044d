/** A history as a text, for a model that is to say something about it rather than go on with it. */

import type { ContentPart, Message } from '@meanwhile/core'

/** A paragraph per thing that was said or done, named after who did it. Reasoning is left out; a file is its kind and name. */
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
