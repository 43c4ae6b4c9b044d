/** Builds events and one message from the chunks of a provider. All adapters use it. */

import { type AssistantMessage, type Flow, ModelError, type ModelErrorData, type ModelEvent } from '@meanwhile/core'
import { turnIfDue } from '@meanwhile/core/calls'
import type { AssembledRequest, Assembler } from './assembler.ts'
import { StreamedResponse } from './streamed-response.ts'

/**
 * Reads `chunks` to their end, yields the events of the response, and returns its message. The `tool-call` events and the message contain the same
 * objects. `tool-input-closed` contains the same object as `tool-call`, unless the call changed in between.
 *
 * @throws {ModelError} The response failed, was cut off, or must not be used; `partial` is what arrived. After the
 *   signal has aborted, its reason is thrown instead.
 */
export async function* assemble<Chunk>(
  request: AssembledRequest & { readonly signal?: AbortSignal },
  chunks: AsyncIterable<Chunk>,
  read: ReadChunk<Chunk>,
  explain: Explain = () => undefined,
): Flow<ModelEvent, AssistantMessage> {
  const response = new StreamedResponse(request)
  try {
    for await (const chunk of chunks) {
      read(chunk, response)
      let event = response.next()
      // A chunk without events does not yield, so the event loop might never turn.
      const turn = event ? undefined : turnIfDue()
      if (turn) await turn
      if (turn) request.signal?.throwIfAborted()
      for (; event; event = response.next()) yield event
    }
  } catch (thrown) {
    // These events came from the chunk before it failed.
    for (let event = response.next(); event; event = response.next()) yield event
    request.signal?.throwIfAborted()
    const data = explain(thrown)
    if (!data) throw thrown
    throw new ModelError(data.message, { cause: thrown, ...data, partial: response.message('error') })
  }
  // Clients end an aborted stream as if it were complete, so the signal must be checked here.
  request.signal?.throwIfAborted()
  const finishReason = response.end()
  for (let event = response.next(); event; event = response.next()) yield event
  return response.message(finishReason)
}

/** Reads one chunk of a wire. If it throws, {@link Explain} receives the error. */
export type ReadChunk<Chunk> = (chunk: Chunk, to: Assembler) => void

/** Turns an error of a vendor's client into the data of a `ModelError`. If it returns `undefined`, the error is thrown unchanged. */
export type Explain = (thrown: unknown) => (ModelErrorData & { readonly message: string }) | undefined
