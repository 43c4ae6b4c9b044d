/** The chunks of a response that an official client was asked for. */

import type { ModelRequest } from '@meanwhile/core'
import type { EventSourceMessage } from 'eventsource-parser'
import { defined } from './defined.ts'
import { IdleLimit, readsWithin } from './idle-limit.ts'
import { eventDecoder, isDone, isHeartbeat, parseEvent } from './server-sent-events.ts'

/** The options the official clients take beside a request's body. */
export interface RequestOptions {
  readonly signal: AbortSignal
  readonly maxRetries?: number
}

/** What the official clients give for a request: its chunks, or the response as it is. */
export interface Asked<Chunk> extends PromiseLike<AsyncIterable<Chunk>> {
  asResponse?(): Promise<Response>
}

/**
 * What each read brought, in its order: handed over together, because a hand-over costs more than the reading of a delta. A chunk is
 * parsed when it is asked for, so that one that cannot be leaves those before it.
 */
export interface ClientChunks<Chunk> extends AsyncIterable<Iterable<Chunk>> {
  /** Something was said: the time the provider may be silent begins again. */
  said(): void
  /** The protocol has ended: the body is read for half a second more, and nothing more is given of it. */
  over(): void
}

/**
 * Makes the request when the first chunk is asked for, and ends it when its reader leaves, or waited for longer than `idleTimeout`
 * ms while nothing was said.
 *
 * The client makes the request: its keys, base URL, headers, retries and time limits hold. Its response is read here, because of
 * what the clients lose of it: Anthropic's, and older ones of OpenAI's, a last event without a blank line (qT5); and none of them
 * says how long nothing came (qT4, qT7). The client's own stream is taken, without a limit, where the events are no Server-Sent Events
 * (Bedrock's), and where a wrapped client does not give its response.
 */
export function clientChunks<Chunk extends object>(
  { signal, clientRetries }: ModelRequest,
  open: (options: RequestOptions) => Asked<Chunk>,
  idleTimeout: number,
): ClientChunks<Chunk> {
  // A signal of the request's own: clients leave their listeners on it.
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
          // Not every stream heeds it.
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
          // After the end an empty one is given: the reader lets the event loop turn now and then, this loop does not.
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

/** The most bytes that are parsed at once. The network brings no more in one read, but a body from memory comes in one piece. */
const PIECE = 64 * 1024

function* pieces(bytes: Uint8Array | undefined): Generator<Uint8Array | undefined, void, undefined> {
  if (!bytes || bytes.length <= PIECE) yield bytes
  else for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
}

function* parsed<Chunk>(events: readonly EventSourceMessage[], last: boolean): Generator<Chunk, void, undefined> {
  for (const event of events) {
    // What a client says of its chunks is what it expects of the events.
    if (!isHeartbeat(event)) yield parseEvent(event, last) as Chunk
  }
}

/** The body, if it holds Server-Sent Events that can be read. */
function bodyOf(response: Response | undefined): ReadableStream<Uint8Array> | undefined {
  if (response?.headers.get('content-type')?.startsWith('application/vnd.amazon.eventstream')) return undefined
  return response?.body instanceof ReadableStream ? response.body : undefined
}
