/** Sends events as the body of a response. */

/** A comment is sent this many milliseconds after the last event, because proxies close silent connections. */
const KEEP_ALIVE = 15_000

interface EventStreamOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent after the last event. */
  readonly last?: string
}

/**
 * Creates a response of server-sent events. It requests the events one by one, as the client reads them; the signal aborts when the client
 * disconnects.
 */
export function eventStream(
  events: (signal: AbortSignal) => AsyncGenerator<object, void>,
  { headers, last = '' }: EventStreamOptions = {},
): Response {
  const left = new AbortController()
  const told = events(left.signal)
  const encoder = new TextEncoder()
  let next: Promise<IteratorResult<object, void>> | undefined
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const send = (text: string) => controller.enqueue(encoder.encode(text))
        next ??= told.next()
        const event = await within(KEEP_ALIVE, next)
        if (!event) return send(': keep-alive\n\n')
        next = undefined
        if (!event.done) return send(`data: ${JSON.stringify(event.value)}\n\n`)
        if (last) send(last)
        controller.close()
      },
      async cancel(reason) {
        left.abort(reason)
        // The abort ends whatever it was waiting for.
        await told.return().catch(() => undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { ...HEADERS, ...headers } })
}

/** `no-transform` and `x-accel-buffering`: a proxy that compresses or buffers the stream would delay its events. */
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-content-type-options': 'nosniff',
  'x-accel-buffering': 'no',
}

/** Undefined if it takes longer than `ms` milliseconds. */
async function within<Value>(ms: number, value: Promise<Value>): Promise<Value | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([value, over])
  } finally {
    clearTimeout(timer)
  }
}
