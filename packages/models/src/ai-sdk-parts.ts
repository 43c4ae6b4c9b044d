/** The parts of an answer, within the time its provider may be silent. */

import type { ModelRequest } from '@meanwhile/core'
import type { StreamPart } from './ai-sdk-model.ts'
import { IdleLimit, readsWithin } from './idle-limit.ts'

/**
 * Asks when the first part is asked for, under a signal of the request's own, and closes the stream when its reader leaves, or
 * waited for longer than `idleTimeout` ms while nothing was said. What comes after the `finish` part is dropped, and
 * waited for only half a second (qT13, qT16).
 */
export async function* parts(
  request: ModelRequest,
  ask: (request: ModelRequest) => Promise<ReadableStream<StreamPart>>,
  idleTimeout: number,
): AsyncGenerator<StreamPart, void, undefined> {
  const { signal } = request
  signal.throwIfAborted()
  const aborter = new AbortController()
  const abort = (): void => aborter.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  const idle = new IdleLimit(idleTimeout, (error) => aborter.abort(error))
  let ended = false
  try {
    const stream = await ask({ ...request, signal: aborter.signal })
    const read = readsWithin(idle, stream, aborter.signal)
    for (let part = await read(); !part.done; part = await read()) {
      // After the end an empty one is given: the reader lets the event loop turn now and then, this loop does not.
      if (idle.isOver) {
        yield NOTHING
        continue
      }
      if (!isSilent(part.value)) idle.said()
      yield part.value
      if (part.value.type === 'finish') idle.over()
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
    // What ended by itself was not aborted: models may be wrapped by what tells the two apart.
    if (!ended) aborter.abort()
  }
}

const NOTHING: StreamPart = { type: 'ping' }

/** The part shows only that the connection is still there. */
function isSilent(part: StreamPart): boolean {
  switch (part.type) {
    case 'stream-start':
    case 'ping':
    case 'raw':
      return true
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return !part.delta && !part.providerMetadata
    default:
      return false
  }
}
