/**
 * For a model without structured output, Anthropic's package of the AI SDK declares a tool `json`, and shows the input
 * of its call as text.
 */

import type { ReadChunk } from '@meanwhile/assemble'
import type { ModelRequest } from '@meanwhile/core'
import { isRecord } from './is-record.ts'

const JSON_TOOL = 'json'

type Event = Readonly<Record<string, unknown>>

/** Whether the package may declare the tool. */
export function asksForJson({ output, tools }: Pick<ModelRequest, 'output' | 'tools'>): boolean {
  return output !== undefined && !tools.some(({ name }) => name === JSON_TOOL)
}

/** Returns the same reader of a Messages stream, for which the blocks of that tool are text. */
export function withoutJsonTool(read: ReadChunk<Event>): ReadChunk<Event> {
  const places = new Set<unknown>()
  let isAnswered = false

  function asText(event: Event): Event | undefined {
    const { type, index, content_block: block, delta } = event
    if (type === 'content_block_start') {
      const isAnswer = isRecord(block) && block.type === 'tool_use' && block.name === JSON_TOOL
      if (!isAnswer) places.delete(index)
      if (!isAnswer) return event
      places.add(index)
      isAnswered = true
      return { type, index, content_block: { type: 'text', text: '' } }
    }
    if (type === 'content_block_delta' && places.has(index)) return undefined
    const isEnd = type === 'message_delta' && isAnswered && isRecord(delta) && delta.stop_reason === 'tool_use'
    return isEnd ? { ...event, delta: { ...delta, stop_reason: 'end_turn' } } : event
  }

  return (event, to) => {
    const told = asText(event)
    if (told) read(told, to)
  }
}
