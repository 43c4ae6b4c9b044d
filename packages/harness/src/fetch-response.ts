/** Plays an answer as a `Response` of the fetch API. */

import { ConnectionError } from './connection-error.ts'
import { type Answer, play } from './play.ts'
import type { Broken } from './raw.ts'
import { type Clock, systemClock } from './time.ts'

/**
 * Resolves when status and headers are due, with a response whose body is played from then on. If the signal aborts, it
 * rejects, or its body fails, with the signal's reason. If the answer breaks off, it does so with a {@link
 * ConnectionError}.
 */
export function fetchResponse(answer: Answer, signal: AbortSignal, clock: Clock = systemClock): Promise<Response> {
  return new Promise((resolve, reject) => {
    const left = new AbortController()
    const pipe = bytePipe(() => left.abort())
    const { status, headers, framing } = answer
    let begun = false
    const sink = {
      open() {
        begun = true
        // Without this header msw 3's setupServer treats a failing body as complete, and undici fails on an abort.
        const length = 'content-length' in headers ? {} : { 'transfer-encoding': 'chunked' }
        resolve(new Response(pipe.body, { status, headers: { ...headers, ...length } }))
      },
      write: pipe.write,
      close: pipe.close,
      breakOff(how: Broken) {
        // Without a length, any end of the connection ends the body.
        if (begun && framing === 'close') pipe.close()
        else breakAs(new ConnectionError(how, begun))
      },
    }

    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    play(answer, sink, { signal: left.signal, clock })
      .catch(fail)
      .finally(() => signal.removeEventListener('abort', abort))

    function abort(): void {
      left.abort()
      fail(signal.reason)
    }

    function breakAs(reason: ConnectionError): void {
      pipe.breakOff(reason)
      reject(reason)
    }

    function fail(reason: unknown): void {
      pipe.fail(reason)
      reject(reason)
    }
  })
}

interface BytePipe {
  readonly body: ReadableStream<Uint8Array>
  /** Returns a promise if the reader is behind; it resolves when the reader has caught up or stopped. */
  write(bytes: Uint8Array): Promise<void> | undefined
  close(): void
  /** Fails after everything that was written, so a slow reader gets the same result. */
  breakOff(reason: unknown): void
  /** Fails at once. */
  fail(reason: unknown): void
}

/** How much may be unread: about the size of a socket's buffer. */
const BUFFER = 64 * 1024

function bytePipe(onCancel: () => void): BytePipe {
  let end: ReadableStreamDefaultController<Uint8Array> | undefined
  let resume = (): void => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        end = controller
      },
      pull: () => resume(),
      cancel() {
        onCancel()
        resume()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFER }),
  )
  return {
    body,
    write(bytes) {
      end?.enqueue(bytes)
      if ((end?.desiredSize ?? 0) > 0) return
      return new Promise((resolve) => {
        resume = resolve
      })
    },
    close: () => end?.close(),
    breakOff(reason) {
      resume = () => {
        // Only then has the reader taken everything.
        if (end?.desiredSize === BUFFER) end.error(reason)
      }
      resume()
    },
    fail(reason) {
      end?.error(reason)
      resume()
    },
  }
}
