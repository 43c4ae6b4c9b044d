/** An answer as a `Response` of the fetch API. */

import { type Answer, play } from './play.ts'

/**
 * The response whose body is the answer, played from now on. It resolves when status and headers are due. If the signal aborts,
 * it rejects, or its body fails, with the signal's reason.
 */
export function fetchResponse(answer: Answer, signal: AbortSignal): Promise<Response> {
  return new Promise((resolve, reject) => {
    const left = new AbortController()
    const pipe = bytePipe(() => left.abort())
    const { status, headers } = answer
    const sink = {
      open: () => resolve(new Response(pipe.body, { status, headers })),
      write: pipe.write,
      close: pipe.close,
    }

    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    play(answer, sink, { signal: left.signal })
      .catch(fail)
      .finally(() => signal.removeEventListener('abort', abort))

    function abort(): void {
      left.abort()
      fail(signal.reason)
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
    fail(reason) {
      end?.error(reason)
      resume()
    },
  }
}
