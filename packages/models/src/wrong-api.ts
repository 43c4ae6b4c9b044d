/** Names the usual mistake when a host that has only Chat Completions responds to the Responses adapter. */

import type { ReadChunk } from '@meanwhile/assemble'
import { isRecord } from './is-record.ts'

/** The response is one of Chat Completions. */
export class WrongApiError extends Error {
  override readonly name = 'WrongApiError'

  constructor() {
    super(
      "the host responded with Chat Completions, not with the Responses API: set `api: 'chat'`, or use `chatWire()`",
    )
  }
}

/** Returns the same reader, which throws {@link WrongApiError} for a chunk of Chat Completions. */
export function refuseChat<Event>(read: ReadChunk<Event>): ReadChunk<Event> {
  return (event, to) => {
    if (isRecord(event) && event.type === undefined && Array.isArray(event.choices)) throw new WrongApiError()
    read(event, to)
  }
}
