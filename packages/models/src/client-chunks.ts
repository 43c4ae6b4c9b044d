/** Streams the chunks of a response that was requested through an official client. */

import type { ModelRequest } from '@meanwhile/core'
import type { EventSourceMessage } from 'eventsource-parser'
import { defined } from './defined.ts'
import { IdleLimit, readsWithin } from './idle-limit.ts'
import { eventDecoder, isDone, isHeartbeat, parseEvent } from './server-sent-events.ts'

/** The options that the official clients accept in addition to a request's body. */
export interface RequestOptions {
  readonly signal: AbortSignal
  readonly maxRetries?: number
}

/** What the official clients return for a request: its chunks, or the raw response. */
export interface Asked<Chunk> extends PromiseLike<AsyncIterable<Chunk>> {
  asResponse?(): Promise<Response>
}

/**
 * The chunks of each read, in order. They are passed on as a group, because passing them on one by one would take
 * longer than reading them. A chunk is parsed when it is read, so that a broken one does not affect those before it.
 */
export interface ClientChunks<Chunk> extends AsyncIterable<Iterable<Chunk>> {
  /** Something was received: the idle time starts again. */
  said(): void
  /** The protocol has ended: the body is read for at most half a second more, and the rest is dropped. */
  over(): void
}

/**
 * Sends the request when the first chunk is read. Ends it when its reader stops, or when nothing was received for
 * `idleTimeout` ms.
 *
 * The client sends the request, so its keys, base URL, headers, retries and timeouts apply. The response is read here,
 * because the clients lose parts of it: Anthropic's client and older ones of OpenAI lose a last event without a blank
 * line (qT5), and none reports how long nothing arrived (qT4, qT7). In two cases the client's own stream is used,
 * without an idle limit: if the events are not Server-Sent Events (Bedrock's), or if a wrapped client does not expose
 * its response.
 */
export function clientChunks<Chunk extends object>(
  { signal, clientRetries }: ModelRequest,
  open: (options: RequestOptions) => Asked<Chunk>,
  idleTimeout: number,
): ClientChunks<Chunk> {
  // The request gets its own signal, because clients do not remove their listeners.
  const request = new AbortController()
  const idle = new IdleLimit(idleTimeout, (error) => request.abort(error))
  return { [Symbol.asyncIterator]: chunks, said: () => idle.said(), over: () => idle.over() }

  async function* chunks(): AsyncGenerator<Iterable<Chunk>, void, undefined> {
    signal.throwIfAborted()
    const abort = (): void => request.abort(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      const asked = open({ signal: request.signal, ...defined({ maxRetries: clientRetries }) })
      const body = bodyOf(await asked.asResponse?.())
      if (!body) {
        for await (const chunk of await asked) {
          yield idle.isOver ? [] : [chunk]
          // Not every stream reacts to the signal.
          request.signal.throwIfAborted()
        }
        return
      }
      const read = readsWithin(idle, body, request.signal)
      const events = eventDecoder()
      for (let ended = false; !ended; ) {
        const { done, value } = await read()
        ended = done
        for (const bytes of pieces(value)) {
          const brought = idle.isOver ? [] : events(bytes)
          const end = brought.findIndex(isDone)
          // After the end, yield an empty list: the reader lets other work run from time to time, but this loop does
          // not.
          yield parsed<Chunk>(end < 0 ? brought : brought.slice(0, end), done)
          if (end >= 0) idle.over()
        }
      }
    } catch (thrown) {
      signal.throwIfAborted()
      if (idle.isOver) return
      request.signal.throwIfAborted()
      throw thrown
    } finally {
      signal.removeEventListener('abort', abort)
      idle.stop()
      request.abort()
    }
  }
}

/** The maximum number of bytes parsed at once. A network read is never larger, but a body in memory is one piece. */
const PIECE = 64 * 1024

function* pieces(bytes: Uint8Array | undefined): Generator<Uint8Array | undefined, void, undefined> {
  if (!bytes || bytes.length <= PIECE) yield bytes
  else for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
}

function* parsed<Chunk>(events: readonly EventSourceMessage[], last: boolean): Generator<Chunk, void, undefined> {
  for (const event of events) {
    // The chunk type is the one the client declares for its events.
    if (!isHeartbeat(event, last)) yield parseEvent(event, last) as Chunk
  }
}

/** The body, if it contains Server-Sent Events that can be read. */
function bodyOf(response: Response | undefined): ReadableStream<Uint8Array> | undefined {
  if (response?.headers.get('content-type')?.startsWith('application/vnd.amazon.eventstream')) return undefined
  return response?.body instanceof ReadableStream ? response.body : undefined
}
