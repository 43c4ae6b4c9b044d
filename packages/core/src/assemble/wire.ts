/** What an adapter knows of its wire, for whoever asks the model without it: how a response is read, how messages go back. */

import type { Message } from '../vocabulary/message.ts'
import type { Model, ModelRequest } from '../vocabulary/model.ts'
import type { Explain, ReadChunk } from './assemble.ts'

/** `Event`: of a stream as its client gives it. `Item`: what the next request has in its list of messages. */
export interface Wire<Event, Item> {
  readonly provider: Model['provider']
  /** For one response. */
  reader(request: Pick<ModelRequest, 'tools' | 'toolNames'>): ReadChunk<Event>
  /** What an error of the client's, or of the reader's, means. */
  readonly explain?: Explain
  /** These messages, neighbours in a history, as the next request has them. */
  items(messages: readonly Message[]): Item[]
}
