/** A port of the rule "start at the tool-call part, by default", to measure ours against. Not for use. */

import { type Middleware, map } from '@meanwhile/core'
import { Adopting } from './adopting.ts'

/**
 * The rule of AI SDK up to 6.0.259 (`runToolsTransformation`), and of Mastra 1.71 (mastra-ai/mastra#24211): a tool starts when the
 * provider's adapter gives the whole `tool-call` part, unless it needs approval, and is not taken back if the response fails, is cut
 * off or is blocked afterwards. Neither asks what the tool does to the world.
 *
 * The port is kind: the part is our sealed call, which a response that ends with `length` does not seal on the Chat wire. Neither of
 * the two repeats a response that broke off: there their user does, as the scripts do, and what Mastra keeps of a settled tool for
 * the history is not ported, as the scripts ask again all the same.
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
