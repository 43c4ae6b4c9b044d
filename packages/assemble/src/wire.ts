/** Describes a provider's wire for code that calls the model without an adapter: how to read a response, and how to send messages. */

import type { Message, Model, ModelRequest } from '@meanwhile/core'
import type { Explain, ReadChunk } from './assemble.ts'

/** `Event`: an event of the client's stream. `Item`: an element of the message list in a request. */
export interface Wire<Event, Item> {
  /** The provider, by its `gen_ai.provider.name`. */
  readonly provider: Model['provider']
  /** A reader for one response. */
  reader(request: Pick<ModelRequest, 'tools' | 'toolNames'>): ReadChunk<Event>
  /** Explains an error of the client or of the reader. */
  readonly explain?: Explain
  /** Converts neighbouring messages of a history into the items of the next request. */
  items(messages: readonly Message[]): Item[]
}
