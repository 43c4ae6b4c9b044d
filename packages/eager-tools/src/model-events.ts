/** Core's own model events as a wire: for a loop that has a model of core's, or reads its stream itself. */

import {
  argumentsText,
  ConfigError,
  type FinishReason,
  type Message,
  type ModelEvent,
  type ReadChunk,
  type ToolCall,
  type Wire,
} from '@meanwhile/core'

/**
 * The events do not say how the response ended. Unless whoever pushes them does, it is `tool-calls` or `stop` as long as
 * every call that has begun was sealed by its `tool-call`, and else `other`, after which no call runs.
 */
export const modelEvents: Wire<ModelEvent, Message> = {
  provider: 'unknown',
  reader,
  items: (messages) => [...messages],
}

function reader(): ReadChunk<ModelEvent> {
  const open = new Set<string>()
  let usual: FinishReason = 'stop'
  return (event, to) => {
    // Of a client it may be anything.
    switch (event?.type) {
      case 'text-delta':
        to.text(event.delta)
        break
      case 'reasoning-delta':
        to.reasoning(event.delta)
        break
      case 'tool-input-start':
        open.add(event.id)
        to.call(event.id, event)
        break
      case 'tool-input-delta':
        to.call(event.id, { delta: event.delta })
        break
      case 'tool-call': {
        const { id, name, providerResult, providerMetadata } = event.call
        open.delete(id)
        usual = 'tool-calls'
        to.call(id, { id, name, providerResult, ...(providerMetadata && { metadata: providerMetadata }) })
        to.seal(id, argumentsOf(event.call))
        break
      }
      // The assembler finds by itself what is ready or closed.
      case 'tool-input-ready':
      case 'tool-input-closed':
        break
      default:
        throw new ConfigError(
          'wire',
          "is none, and what is pushed is no event of core's: a client's needs chatWire(), …",
        )
    }
    to.finish(open.size === 0 ? usual : 'other')
  }
}

/**
 * Of a call that must not run the text as it came; if that was not kept, or might be used after all, another one that is no
 * JSON.
 */
function argumentsOf({ input, inputError }: ToolCall): string {
  if (inputError === undefined) return argumentsText(input)
  const text = String(input)
  return mayBeUsed(text) ? `not usable: ${inputError}` : text
}

function mayBeUsed(text: string): boolean {
  try {
    JSON.parse(text || '{}')
    return true
  } catch {
    return false
  }
}
