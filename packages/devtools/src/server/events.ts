/** Tells open pages what changed, as server-sent events. */

import type { ServerResponse } from 'node:http'
import type { News, Traces } from '../store/traces.ts'
import { summaryOf } from './summary.ts'

const LEAST_MS = 50
/** After news it waits at least this many times as long as they took: most of the process's time is for spans. */
const REST = 9
const BEAT_MS = 15_000

/**
 * Sends `hello`, then `runs` with the summaries of changed runs and `gone` with the keys of runs that are no longer kept, at once and then at most every
 * 50 ms, less often if they take long, and `beat` every 15 s. A page that does not read, or for which there is too much, gets another `hello` in place of what it missed:
 * it loads the list again.
 */
export function sendEvents(
  response: ServerResponse,
  traces: Traces,
  clock: () => number = () => performance.now(),
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
  if (response.req.method === 'HEAD') return void response.end()
  const changed = new Set<string>()
  const gone = new Set<string>()
  let isFull = false
  let isBehind = false
  let restsUntil = 0
  let timer: NodeJS.Timeout | undefined
  const beat = setInterval(() => send('beat', { now: Date.now() }), BEAT_MS)
  const unwatch = traces.watch((news: News) => {
    isBehind ||= isFull
    if (isFull) return
    for (const id of news.changed) changed.add(id)
    for (const key of news.gone) gone.add(key)
    arm()
  })
  response.on('drain', () => {
    isFull = false
    if (isBehind) tell()
    else arm()
  })
  response.on('close', () => {
    unwatch()
    clearInterval(beat)
    clearTimeout(timer)
  })
  send('hello', { now: Date.now() })

  function arm(): void {
    if (!isFull && changed.size + gone.size > 0) timer ??= setTimeout(tell, Math.max(0, restsUntil - clock()))
  }

  function tell(): void {
    clearTimeout(timer)
    timer = undefined
    const now = Date.now()
    const began = clock()
    const isMissed = isBehind || gone.size > MOST_GONE
    const runs = isMissed ? [] : [...changed].flatMap((id) => traces.runsOf(id)).map((run) => summaryOf(run, now))
    const keys = [...gone]
    isBehind = false
    changed.clear()
    gone.clear()
    if (isMissed) {
      send('hello', { now })
      return
    }
    if (keys.length > 0) send('gone', { keys })
    send('runs', { now, runs })
    const told = clock()
    restsUntil = told + Math.max(LEAST_MS, (told - began) * REST)
  }

  function send(event: string, data: object): void {
    if (!response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)) isFull = true
  }
}

const MOST_GONE = 10_000
