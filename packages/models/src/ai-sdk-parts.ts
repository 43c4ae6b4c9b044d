/** Streams the parts of a response, with a limit on how long the provider may be silent. */

import type { ModelRequest } from '@meanwhile/core'
import { isComment } from './ai-sdk-errors.ts'
import type { StreamPart } from './ai-sdk-model.ts'
import type { RawWire } from './ai-sdk-wires.ts'
import { IdleLimit, readsWithin } from './idle-limit.ts'
import { isRecord } from './is-record.ts'

/**
 * Sends the request when the first part is read. Closes the stream when its reader stops, or when nothing was received
 * for `idleTimeout` ms. Parts after the `finish` part are dropped. From that part on, or from the last chunk of the
 * wire, the stream gets half a second to end (qT13, qT16).
 */
export async function* parts(
  request: ModelRequest,
  ask: (request: ModelRequest) => Promise<ReadableStream<StreamPart>>,
  idleTimeout: number,
  wire?: RawWire,
): AsyncGenerator<StreamPart, void, undefined> {
  const { signal } = request
  signal.throwIfAborted()
  const aborter = new AbortController()
  const abort = (): void => aborter.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  const idle = new IdleLimit(idleTimeout, (error) => aborter.abort(error))
  let ended = false
  let isFinished = false
  try {
    const stream = await ask({ ...request, signal: aborter.signal })
    const read = readsWithin(idle, stream, aborter.signal)
    for (let part = await read(); !part.done; part = await read()) {
      // After the end, yield an empty part: the reader lets other work run from time to time, but this loop does not.
      if (isFinished || (part.value.type === 'error' && isComment(part.value.error))) {
        yield NOTHING
        continue
      }
      if (!isSilent(part.value, wire)) idle.said()
      yield part.value
      isFinished = part.value.type === 'finish'
      if (isFinished || (!idle.isOver && isLast(part.value, wire))) idle.over()
    }
    ended = true
  } catch (thrown) {
    signal.throwIfAborted()
    if (idle.isOver) return
    aborter.signal.throwIfAborted()
    throw thrown
  } finally {
    signal.removeEventListener('abort', abort)
    idle.stop()
    // A stream that ended normally is not aborted, because wrappers of the model may treat an abort differently.
    if (!ended) aborter.abort()
  }
}

const NOTHING: StreamPart = { type: 'ping' }

/** Whether the wire's protocol ends with the chunk in this part. */
function isLast(part: StreamPart, wire: RawWire | undefined): boolean {
  return part.type === 'raw' && isRecord(part.rawValue) && !!wire?.isLast(part.rawValue)
}

/** Whether the part only shows that the connection is still open. */
function isSilent(part: StreamPart, wire: RawWire | undefined): boolean {
  switch (part.type) {
    case 'stream-start':
    case 'ping':
    case 'error':
      return true
    case 'raw':
      return !wire || !isRecord(part.rawValue) || wire.isSilent(part.rawValue)
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return !part.delta && !part.providerMetadata
    default:
      return false
  }
}
