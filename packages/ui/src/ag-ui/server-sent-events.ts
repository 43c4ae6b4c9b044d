/** Events as the body of a response. */

/**
 * The response to a request of a client. `events` are asked for one by one, as the client reads them; the signal aborts when the client has
 * left.
 */
export function eventStream(events: (signal: AbortSignal) => AsyncGenerator<object, void>): Response {
  const gone = new AbortController()
  const told = events(gone.signal)
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await told.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`))
      },
      async cancel(reason) {
        gone.abort(reason)
        await told.return().catch(() => undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: HEADERS })
}

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }
