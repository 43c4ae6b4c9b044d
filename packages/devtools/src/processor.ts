/** A span processor for development: it shows spans in the devtools from their beginning, while they are open. */

import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { context, createContextKey } from '@opentelemetry/api'
import { PROCESS_HEADER } from './process-header.ts'
import { type ReadableSpan, requestOf } from './readable-span.ts'

/** The options of {@link devtools}. */
export interface DevtoolsProcessorOptions {
  /** The address of the devtools. Default `http://localhost:4318`. */
  readonly url?: string
  /** How long it waits between two news, in milliseconds; the first are sent at once. Default 100. */
  readonly everyMs?: number
}

/** A span processor of OpenTelemetry's SDK, of its versions 1 to 3. */
export interface DevtoolsProcessor {
  onStart(span: ReadableSpan): void
  onEnd(span: ReadableSpan): void
  /** Sends what has not been sent, for at most 1 s. It never rejects. */
  forceFlush(): Promise<void>
  /** Sends what has not been sent, for at most 1 s, and stops. It never rejects. */
  shutdown(): Promise<void>
  /** The number of spans that were not kept: the devtools did not answer, or one span was too large for them. */
  readonly dropped: number
}

const MOST_OPEN = 2_000
const MOST_ENDED = 4_000
const MOST_AT_ONCE = 500
const TIME_LIMIT_MS = 1_000
const RETRY_MS = 5_000

/**
 * Sends each span at once, then at most every `everyMs` while it is open and has changed, and once when it has ended. Use it in place of a batch
 * processor with an exporter, and only in development. If the devtools do not answer, it keeps at most 4,000 spans, tries again every 5 s,
 * and the program runs as before. Throws a `TypeError` for a `url` that is not `http:`.
 */
export function devtools({
  url = 'http://localhost:4318',
  everyMs = 100,
}: DevtoolsProcessorOptions = {}): DevtoolsProcessor {
  const origin = originOf(url)
  const agent = new Agent({ keepAlive: true, maxSockets: 2 })
  const process = randomUUID()
  /** The open spans, and how much of each has been sent. */
  const open = new Map<ReadableSpan, number>()
  let ended: ReadableSpan[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let waitMs = everyMs
  let nextAt = 0
  let dropped = 0
  let isClosed = false

  function arm(): void {
    if (!isClosed && !sending) timer ??= setTimeout(tick, Math.max(0, nextAt - performance.now())).unref()
  }

  function tick(): void {
    clearTimeout(timer)
    timer = undefined
    sending ??= sendNews().then((outcome) => {
      sending = undefined
      waitMs = outcome === 'refused' ? RETRY_MS : everyMs
      nextAt = performance.now() + waitMs
      if (open.size > 0 || ended.length > 0) arm()
    })
  }

  async function sendNews(): Promise<Outcome> {
    const changed = [...open.keys()].filter((span) => sizeOf(span) !== open.get(span)).slice(0, MOST_AT_ONCE)
    const done = ended.slice(0, MOST_AT_ONCE)
    ended = ended.slice(MOST_AT_ONCE)
    for (const span of changed) open.set(span, sizeOf(span))
    const [told, kept] = await Promise.all([post('/devtools/open', changed), post('/v1/traces', done)])
    for (const span of told.unsent) if (open.has(span)) open.set(span, UNSENT)
    if (kept.unsent.length > 0) keep([...kept.unsent, ...ended])
    return kept.outcome === 'answered' ? told.outcome : kept.outcome
  }

  function keep(spans: ReadableSpan[]): void {
    ended = spans.slice(0, MOST_ENDED)
    dropped += spans.length - ended.length
  }

  /** Spans that are too large together are sent by halves. */
  async function post(path: Path, spans: readonly ReadableSpan[]): Promise<Sent> {
    const [first] = spans
    if (!first) return ANSWERED
    const outcome = await postAtOnce(path, spans)
    if (outcome === 'answered') return ANSWERED
    if (outcome !== 'too large') return { outcome, unsent: spans }
    if (spans.length === 1) {
      if (path === '/v1/traces') dropped++
      warnOnce(
        'size',
        `The span ${JSON.stringify(first.name)} is too large for the program at ${origin}. It is not shown.`,
      )
      return ANSWERED
    }
    const middle = Math.ceil(spans.length / 2)
    const half = await post(path, spans.slice(0, middle))
    if (half.outcome === 'answered') return post(path, spans.slice(middle))
    return { ...half, unsent: [...half.unsent, ...spans.slice(middle)] }
  }

  function postAtOnce(path: Path, spans: readonly ReadableSpan[]): Promise<Outcome | 'too large'> {
    const body = requestOf(spans, path === '/devtools/open')
    const headers = { 'content-type': 'application/json', [PROCESS_HEADER]: process }
    const options = { method: 'POST', agent, headers, signal: AbortSignal.timeout(TIME_LIMIT_MS) }
    return new Promise((resolve) => {
      // Its own requests do not belong to any trace.
      context.with(context.active().setValue(SUPPRESSED, true), () => {
        request(origin + path, options, (response) => {
          const { statusCode = 200 } = response.resume()
          if (statusCode >= 400 && statusCode !== TOO_LARGE)
            warnOnce('answer', `The program at ${origin} refuses spans (status ${statusCode}). Is it the devtools?`)
          // Spans that were refused are refused again.
          response.once('end', () => resolve(statusCode === TOO_LARGE ? 'too large' : 'answered'))
          response.once('error', () => resolve('late'))
        })
          .once('error', (error) => {
            // A program that computes for a second answers no events in that time: the devtools may be there.
            if (options.signal.aborted) return resolve('late')
            const { code = error.name } = error as NodeJS.ErrnoException
            warnOnce('answer', `The devtools at ${origin} do not answer (${code}). Runs are shown once they do.`)
            resolve('refused')
          })
          .end(body)
      })
    })
  }

  const warned = new Set<string>()

  function warnOnce(about: 'answer' | 'size', message: string): void {
    if (warned.has(about) || isClosed) return
    warned.add(about)
    console.error(message)
  }

  async function flush(): Promise<void> {
    const until = Date.now() + TIME_LIMIT_MS
    do {
      if (sending) await sending
      if (ended.length === 0) return
      tick()
      await sending
    } while (waitMs === everyMs && Date.now() < until)
  }

  return {
    onStart(span) {
      if (isClosed || open.size >= MOST_OPEN) return
      open.set(span, UNSENT)
      arm()
    },
    onEnd(span) {
      open.delete(span)
      if (isClosed) return
      if (ended.length >= MOST_ENDED) dropped++
      else ended.push(span)
      arm()
    },
    forceFlush: () => withinLimit(flush()),
    async shutdown() {
      await withinLimit(flush())
      isClosed = true
      clearTimeout(timer)
      open.clear()
      agent.destroy()
    },
    get dropped() {
      return dropped
    },
  }
}

/** Without a path: the devtools have their own. */
function originOf(url: string): string {
  const parsed = URL.parse(url)
  if (parsed?.protocol === 'http:') return parsed.origin
  throw new TypeError(`devtools: url must be an address such as http://localhost:4318, not ${url}`)
}

type Path = '/devtools/open' | '/v1/traces'
type Outcome = 'answered' | 'late' | 'refused'
const TOO_LARGE = 413

interface Sent {
  readonly outcome: Outcome
  /** The spans to send again. */
  readonly unsent: readonly ReadableSpan[]
}

const ANSWERED: Sent = { outcome: 'answered', unsent: [] }

const UNSENT = -1

// The SDK has no public name for it, but its exporters use this key, too.
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')

/** Attributes, events and links are only ever added. */
function sizeOf({ attributes, events, links }: ReadableSpan): number {
  let count = events.length + links.length
  for (const _ in attributes) count++
  return count
}

function withinLimit(work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, TIME_LIMIT_MS)
    void work.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
