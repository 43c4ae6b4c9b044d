/** An answer as a `Response` of the fetch API. */

import { ConnectionError } from './connection-error.ts'
import { type Answer, play } from './play.ts'
import type { Broken } from './raw.ts'
import { type Clock, systemClock } from './time.ts'

/**
 * The response whose body is the answer, played from now on. It resolves when status and headers are due. If the signal aborts,
 * it rejects, or its body fails, with the signal's reason; if the answer breaks off, with a {@link ConnectionError}.
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
        // Under setupServer, msw 3 takes a body that fails for one that ends unless this is set, and undici trips over an abort.
        const length = 'content-length' in headers ? {} : { 'transfer-encoding': 'chunked' }
        resolve(new Response(pipe.body, { status, headers: { ...headers, ...length } }))
      },
      write: pipe.write,
      close: pipe.close,
      breakOff(how: Broken) {
        // Then the end of the connection, whatever it is, is the end of the body.
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
  /** The promise says that the reader is behind, and resolves when it has read on, or left. */
  write(bytes: Uint8Array): Promise<void> | undefined
  close(): void
  /** Fails behind what was written: however late the reader is, it hears the same. */
  breakOff(reason: unknown): void
  /** Fails at once. */
  fail(reason: unknown): void
}

/** What the reader may leave unread: about what a socket takes. */
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
        // Only then is nothing left unread.
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
