/** One run: what it was, when everything happened, and what was said. */

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Span } from '../src/geometry/axis.ts'
import { firstWindow } from '../src/geometry/rows.ts'
import type { RunDetail } from '../src/server/api.ts'
import type { Address, Go } from './address.ts'
import { useNow } from './clock.ts'
import { Head } from './head.tsx'
import { Legend } from './legend.tsx'
import { barsOf } from './selection.ts'
import { Switch } from './switch.tsx'
import { ResponseTable } from './table.tsx'
import { Timeline } from './timeline/timeline.tsx'
import { Transcript } from './transcript/transcript.tsx'

export interface RunViewProps {
  readonly detail: RunDetail
  readonly address: Address
  readonly go: Go
  readonly narrow: boolean
  readonly onBack: () => void
}

export function RunView({ detail, address, go, narrow, onBack }: RunViewProps) {
  const { run } = detail
  const running = run.state === 'running'
  const clock = useNow(running)
  const time = run.end ?? clock
  // While nothing runs, the window is not computed again.
  const first = useMemo(() => firstWindow(run, time), [run, running ? Math.floor(time / 1_000) : 0])
  const window = windowOf(address, run.start, first)
  const select = useCallback((at: string | undefined) => go({ at }, run.key), [run.key])
  const zoom = useCallback(
    (to: Span | undefined) =>
      go({ window: to ? { from: to.from - run.start, to: to.to - run.start } : first ? 'all' : undefined }, run.key),
    [run.key, run.start, first],
  )
  useKeys(run, address.at, select)
  const shared = { run, now: time, selected: address.at, onSelect: select, ...(window && { window }) }
  // A run that has not ended, or that has no calls, was never in another way.
  const canSwitch = !running && run.calls > 0
  const view = canSwitch ? address.view : 'was'
  const head = useMemo(
    () => <Head detail={detail} now={time} narrow={narrow} onBack={onBack} onSelect={select} selected={address.at} />,
    [detail, time, narrow, address.at],
  )
  const legend = useMemo(() => <Legend run={run} />, [run])
  return (
    <main class="run">
      {head}
      <section class="plot" aria-label="Timeline">
        {canSwitch && <Switch detail={detail} view={view} onView={(next) => go({ view: next }, run.key)} />}
        <Timeline {...shared} view={view} narrow={narrow} first={first} onZoom={zoom}>
          <ResponseTable {...shared} narrow={narrow} />
        </Timeline>
        {legend}
      </section>
      <Transcript {...shared} />
    </main>
  )
}

function windowOf({ window }: Address, start: number, first: Span | undefined): Span | undefined {
  if (window === 'all') return undefined
  return window ? { from: start + window.from, to: start + window.to } : first
}

/** `j` and `k` select the next and the previous bar, Escape none. */
function useKeys(run: RunDetail['run'], selected: string | undefined, select: (at: string | undefined) => void): void {
  const [bars, setBars] = useState<readonly string[]>([])
  useEffect(() => setBars(barsOf(run)), [run])
  // A key may come before the selection of the key before it is drawn.
  const now = useRef(selected)
  useLayoutEffect(() => {
    now.current = selected
  }, [selected])
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.target instanceof HTMLInputElement && event.target.type === 'search') return
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key === 'Escape') move(undefined)
      const by = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0
      if (by === 0 || bars.length === 0) return
      const at = now.current === undefined ? (by > 0 ? -1 : 0) : bars.indexOf(now.current)
      move(bars[(at + by + bars.length) % bars.length])
    }
    const move = (to: string | undefined): void => {
      now.current = to
      select(to)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [bars, select])
}
