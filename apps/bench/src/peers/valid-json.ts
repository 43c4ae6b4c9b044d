/** A port of the rule "start when the buffer is valid JSON, adopt by call id", to compare our rule with. Not for use. */

import { type Middleware, map, type Run } from '@meanwhile/core'
import { Adopting } from './adopting.ts'

/**
 * The rule of cloudwego/eino#934 (draft, April 2026), as its description states it: it reads a copy of the stream; when the
 * arguments of a call are valid JSON (`json.Valid`) it dispatches the tool; the tools node then finds the result by the call's id
 * and does not execute again. It considers neither the tool's effect nor the final arguments, and each attempt dispatches again.
 */
export function validJson(): Middleware {
  const starts = new Adopting()
  const buffers = new Map<string, { readonly name: string; text: string }>()

  function grown(id: string, delta: string, run: Run): void {
    const buffer = buffers.get(id)
    if (!buffer) return
    buffer.text += delta
    const input = parsed(buffer.text)
    if (input !== undefined) starts.start({ type: 'tool-call', id, name: buffer.name, input }, run)
  }

  return {
    name: 'valid-json',
    wrapToolCall: starts.wrapToolCall,
    wrapModel: (request, next, run) =>
      map(next(request), (event) => {
        if (event.type === 'tool-input-start') buffers.set(event.id, { name: event.name, text: '' })
        else if (event.type === 'tool-input-delta') grown(event.id, event.delta, run)
        return event
      }),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
