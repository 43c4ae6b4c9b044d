/** What the page asks for: the list of runs, one run, one span, one trace as a file. */

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Layout, layoutOf, mostSaved } from '../geometry/views.ts'
import type { Run } from '../model/run.ts'
import type { Traces } from '../store/traces.ts'
import { sendEvents } from './events.ts'
import { otlpOf } from './otlp-file.ts'
import { shortened } from './shortened.ts'
import { type Summary, summaryOf } from './summary.ts'

/** The answer to `GET /api/runs?before=TIME&limit=100&q=TEXT`. */
export interface RunList {
  /** The clock of the server. */
  readonly now: number
  readonly runs: readonly Summary[]
  readonly received: number
  readonly evicted: number
}

/** The answer to `GET /api/runs/KEY`. */
export interface RunDetail {
  readonly now: number
  readonly run: Run
  /** Milliseconds by which the run would be longer in each view; `upTo` as in the summary. */
  readonly saving: { readonly after: number; readonly serial: number; readonly bound: number; readonly upTo?: number }
  /** The number of spans of its trace that were not kept. */
  readonly dropped: number
}

type Answer = (given: readonly string[], url: URL, request: IncomingMessage, response: ServerResponse) => void

const KEY = '([0-9a-f]{32})-([0-9a-f]{16})'
const MOST_RUNS = 500

/** Answers a request if its path is one of these; returns whether it did. */
export function api(traces: Traces): (url: URL, request: IncomingMessage, response: ServerResponse) => boolean {
  // Versions begin again with each process, but a browser keeps what an earlier one has answered.
  const process = randomUUID()
  const routes: readonly (readonly [RegExp, Answer])[] = [
    [/^\/api\/runs$/, (_, url, __, response) => json(response, listOf(traces, url.searchParams))],
    [new RegExp(`^/api/runs/${KEY}$`), sendRun],
    [new RegExp(`^/api/runs/${KEY}/otlp$`), sendFile],
    [/^\/api\/spans\/([0-9a-f]{32})\/([0-9a-f]{16})$/, sendSpan],
    [/^\/api\/events$/, (_, __, ___, response) => sendEvents(response, traces)],
  ]

  return (url, request, response) => {
    for (const [path, answer] of routes) {
      const match = path.exec(url.pathname)
      if (!match) continue
      answer(match.slice(1), url, request, response)
      return true
    }
    return false
  }

  function sendRun(
    [traceId = '', spanId]: readonly string[],
    _: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ) {
    const run = traces.runsOf(traceId).find(({ key }) => key === `${traceId}-${spanId}`)
    if (!run) return notFound(response)
    const etag = `"${process}-${traces.version(traceId)}-${run.state}"`
    if (request.headers['if-none-match'] === etag) return response.writeHead(304, { etag }).end()
    return json(response, detailOf(run, traces.dropped(traceId)), { etag, 'cache-control': 'no-cache' })
  }

  function sendSpan(
    [traceId = '', spanId = '']: readonly string[],
    _: URL,
    __: IncomingMessage,
    response: ServerResponse,
  ) {
    const span = traces.span(traceId, spanId)
    return span ? json(response, span) : notFound(response)
  }

  function sendFile([traceId = '']: readonly string[], _: URL, __: IncomingMessage, response: ServerResponse) {
    const spans = traces.spansOf(traceId)
    if (spans.length === 0) return notFound(response)
    const file = otlpOf(spans)
    const disposition = `attachment; filename="run-${traceId.slice(0, 8)}.otlp.json"`
    response.writeHead(200, { 'content-type': 'application/json', 'content-disposition': disposition })
    return response.end(file)
  }
}

function listOf(traces: Traces, asked: URLSearchParams): RunList {
  const now = Date.now()
  const before = Number(asked.get('before') ?? Number.POSITIVE_INFINITY)
  const limit = Math.max(1, Math.min(MOST_RUNS, Number(asked.get('limit')) || MOST_RUNS))
  const text = asked.get('q')?.toLowerCase() ?? ''
  const { received, evicted } = traces
  const found = traces
    .runs()
    .filter(
      ({ start, title, agent, model }) =>
        start < before && [title, agent, model].join(' ').toLowerCase().includes(text),
    )
  return { now, runs: found.slice(0, limit).map((run) => summaryOf(run, now)), received, evicted }
}

function detailOf(run: Run, dropped: number): RunDetail {
  const now = Date.now()
  const difference = (layout: Layout) => layout.difference
  const upTo = mostSaved(run, now)
  const saving = {
    after: difference(layoutOf(run, 'after', now)),
    serial: difference(layoutOf(run, 'serial', now)),
    bound: difference(layoutOf(run, 'bound', now)),
    ...(upTo !== undefined && { upTo }),
  }
  return { now, run: shortened(run), saving, dropped }
}

function json(response: ServerResponse, value: object, headers: Readonly<Record<string, string>> = {}): void {
  const body = JSON.stringify(value)
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers })
  response.end(body)
}

function notFound(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ message: 'it is not here, or no longer' }))
}
