/** The runs that the server has: the list, which grows by itself, and the one that is shown. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { RunDetail, RunList } from '../src/server/api.ts'
import type { Summary } from '../src/server/summary.ts'
import { setClock } from './clock.ts'

export interface Runs {
  /** Latest first; `undefined` until they have been loaded. */
  readonly runs: readonly Summary[] | undefined
  /** Whether the server answers. */
  readonly live: boolean
  /** How often the runs of each trace have changed. */
  readonly changes: ReadonlyMap<string, number>
}

type Change = (known: ReadonlyMap<string, Summary>) => ReadonlyMap<string, Summary>

export function useRuns(): Runs {
  const [runs, setRuns] = useState<ReadonlyMap<string, Summary>>()
  const [live, setLive] = useState(true)
  const [changes, setChanges] = useState<ReadonlyMap<string, number>>(new Map())
  useEffect(() => {
    // While a list is on its way, news may arrive that it does not have.
    let news: Change[] | undefined
    const hear = (change: Change): void => {
      news?.push(change)
      setRuns((known = new Map()) => change(known))
    }
    const load = async (): Promise<void> => {
      const heard: Change[] = []
      news = heard
      const list = await get<RunList>('/api/runs')
      // A later load is under way: its list is newer.
      if (news !== heard) return
      news = undefined
      if (!list) return
      setClock(list.now)
      const listed: ReadonlyMap<string, Summary> = new Map(list.runs.map((run) => [run.key, run]))
      setRuns(heard.reduce((known, change) => change(known), listed))
      setChanges((so) => more(so, list.runs))
    }
    const events = new EventSource('/api/events')
    // After a pause in which the server did not answer the list may be another one.
    events.addEventListener('hello', () => {
      setLive(true)
      void load()
    })
    events.addEventListener('runs', ({ data }: MessageEvent<string>) => {
      const { now, runs: changed } = JSON.parse(data) as Pick<RunList, 'now' | 'runs'>
      setClock(now)
      hear((known) => merged(known, changed))
      setChanges((so) => more(so, changed))
    })
    events.addEventListener('gone', ({ data }: MessageEvent<string>) => {
      const { keys } = JSON.parse(data) as { readonly keys: readonly string[] }
      hear((known) => new Map([...known].filter(([key]) => !keys.includes(key))))
    })
    events.addEventListener('error', () => setLive(false))
    return () => events.close()
  }, [])
  const sorted = useMemo(() => runs && [...runs.values()].sort((a, b) => b.start - a.start), [runs])
  return { runs: sorted, live, changes }
}

/** A trace tells all its runs: one whose own span has arrived replaces the one that stood for it. */
function merged(known: ReadonlyMap<string, Summary>, changed: readonly Summary[]): Map<string, Summary> {
  const traces = new Set(changed.map(({ key }) => traceOf(key)))
  const kept = [...known].filter(([key]) => !traces.has(traceOf(key)))
  return new Map([...kept, ...changed.map((run) => [run.key, run] as const)])
}

export const traceOf = (key: string): string => key.slice(0, 32)

const KEY_LENGTH = 49

function more(changes: ReadonlyMap<string, number>, runs: readonly Summary[]): ReadonlyMap<string, number> {
  const traces = new Set(runs.map(({ key }) => traceOf(key)))
  return new Map([...changes, ...[...traces].map((trace) => [trace, (changes.get(trace) ?? 0) + 1] as const)])
}

/** The run with this key, `none` if it is not here. After changes it is asked for again, once at a time. */
export function useRun(key: string | undefined, changes: number): RunDetail | 'none' | undefined {
  const [detail, setDetail] = useState<RunDetail>()
  const [missing, setMissing] = useState<string>()
  const state = useRef({ asked: '', isLoading: false })
  useEffect(() => {
    state.current.asked = key === undefined ? '' : `${key} ${changes}`
    void load()

    async function load(): Promise<void> {
      const { current } = state
      if (current.isLoading) return
      current.isLoading = true
      for (let loaded = ''; loaded !== current.asked && current.asked !== ''; ) {
        loaded = current.asked
        const asked = loaded.slice(0, KEY_LENGTH)
        const answer = await get<RunDetail>(`/api/runs/${asked}`)
        setMissing(answer ? undefined : asked)
        if (!answer) continue
        setClock(answer.now)
        setDetail((shown) => (shown && sameRun(shown, answer) ? shown : answer))
      }
      current.isLoading = false
    }
  }, [key, changes])
  if (detail?.run.key === key) return detail
  return key !== undefined && missing === key ? 'none' : undefined
}

/** What is drawn is kept for a run that has not changed, with everything that was computed for it. */
function sameRun(a: RunDetail, b: RunDetail): boolean {
  return a.run.state !== 'running' && JSON.stringify(a.run) === JSON.stringify(b.run)
}

/** `undefined` if the server does not answer, or has nothing there. */
export async function get<Answer>(path: string): Promise<Answer | undefined> {
  try {
    const response = await fetch(path)
    return response.ok ? ((await response.json()) as Answer) : undefined
  } catch {
    return undefined
  }
}
