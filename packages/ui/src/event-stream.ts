/** Events as the body of a response. */

/** So many milliseconds after the last event a comment is sent: what stands between browser and server cuts silent connections off. */
const KEEP_ALIVE = 15_000

interface EventStreamOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** What is sent after the last event. */
  readonly last?: string
}

/**
 * A response of server-sent events. The events are asked for one by one, as the client reads them; the signal aborts when the client has
 * left.
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
        // Whatever it was waiting for ends with the abort.
        await told.return().catch(() => undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { ...HEADERS, ...headers } })
}

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }

/** Undefined if it takes longer than so many milliseconds. */
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
