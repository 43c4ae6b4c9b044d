/** Core's own model events as a wire, for loops that use a core model or read the stream themselves. */

import { argumentsText, type ReadChunk, type Wire } from '@meanwhile/assemble'
import { ConfigError, type FinishReason, type Message, type ModelEvent, type ToolCall } from '@meanwhile/core'

/**
 * The events contain no finish reason. Unless `finish` states one, it is `tool-calls` or `stop` if every call was
 * sealed by a `tool-call` event; otherwise it is `other`, and no call runs.
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
    // From JavaScript it may be any value.
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
      // The assembler detects these itself.
      case 'tool-input-ready':
      case 'tool-input-closed':
        break
      default:
        throw new ConfigError(
          'wire',
          'is missing, and the pushed value is not a core model event: events of a client need chatWire(), …',
        )
    }
    to.finish(open.size === 0 ? usual : 'other')
  }
}

/**
 * For a call that must not run: the original text. If it was not kept or could be parsed after all, a text that is not
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
