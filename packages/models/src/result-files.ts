/** Moves files that tools returned, for wires whose tool results cannot contain files. */

import type { ContentPart, FilePart, Message, TextPart, ToolMessage } from '@meanwhile/core'

/**
 * Returns the history with a note in place of each such file. The files follow in a user message after the step's last
 * result. `only`: the results that cannot contain files; default: none can.
 */
export function filesAfterResults(
  messages: readonly Message[],
  only: (result: ToolMessage) => boolean = () => true,
): readonly Message[] {
  const isMoved = (message: Message): boolean =>
    message.role === 'tool' && message.content.some(({ type }) => type === 'file') && only(message)
  if (!messages.some(isMoved)) return messages
  let files: ContentPart[] = []
  return messages.flatMap((message, index) => {
    if (message.role !== 'tool') return [message]
    const { content } = message
    const results: Message[] = [message]
    if (isMoved(message)) {
      results[0] = {
        ...message,
        content: content.map((part) => (part.type === 'file' ? moved(part, message, files) : part)),
      }
    }
    if (files.length > 0 && messages[index + 1]?.role !== 'tool') {
      results.push({ role: 'user', content: files })
      files = []
    }
    return results
  })
}

function moved(file: FilePart, { callId }: ToolMessage, files: ContentPart[]): TextPart {
  const name = file.filename ?? file.mediaType
  files.push({ type: 'text', text: `${name}, from the result of call ${callId}:` }, file)
  return { type: 'text', text: `(${name} is in the user message after these results)` }
}
