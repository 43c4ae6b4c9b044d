/** Defines `mcpPrompt`: a prompt of a server as messages of a history. */

import type { AssistantMessage, Message } from '@meanwhile/core'
import type { Client } from '@modelcontextprotocol/client'
import { partOf } from './content.ts'
import { fullLimits, type McpLimits } from './options.ts'

/**
 * The messages of a prompt, for the input of a run. The server writes them, so treat them as the words of somebody else. In a message of the model only
 * texts remain.
 *
 * @throws What the client throws: the server has no such prompt, or the connection is lost.
 */
export async function mcpPrompt(
  client: Client,
  name: string,
  args: Readonly<Record<string, string>> = {},
  limits?: McpLimits,
): Promise<Message[]> {
  const { messages } = await client.getPrompt({ name, arguments: { ...args } })
  return messages.map(({ role, content }) => {
    const part = partOf(content, fullLimits(limits))
    if (role === 'user') return { role, content: [part] }
    const text = part.type === 'text' ? part : { type: 'text' as const, text: `[${part.mediaType}]` }
    return { role, content: [text], finishReason: 'stop' } satisfies AssistantMessage
  })
}
