/** A port of the rule "start at the tool-call part, by default", to compare our rule with. Not for use. */

import { type Middleware, map } from '@meanwhile/core'
import { Adopting } from './adopting.ts'

/**
 * The rule of AI SDK up to 6.0.259 (`runToolsTransformation`), and of Mastra 1.71 (mastra-ai/mastra#24211): a tool starts when the
 * provider's adapter sends the whole `tool-call` part, unless it needs approval, and is not taken back if the response fails, is cut
 * off or is blocked afterwards. Neither considers the tool's effect.
 *
 * The port is kind: the part is our sealed call, which a response that ends with `length` does not seal on the Chat wire. Neither of
 * the two repeats a response that broke off: their users do, as the scripts do. What Mastra keeps of a settled tool for
 * the history is not ported, because the scripts ask again anyway.
 */
export function toolCallPart(needsApproval: (name: string) => boolean): Middleware {
  const starts = new Adopting()
  return {
    name: 'tool-call-part',
    wrapToolCall: starts.wrapToolCall,
    wrapModel: (request, next, run) =>
      map(next(request), (event) => {
        if (event.type === 'tool-call' && !needsApproval(event.call.name)) starts.start(event.call, run)
        return event
      }),
  }
}
