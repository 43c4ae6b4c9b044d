/** The whole page: the list of runs next to the one that is shown, or on a narrow page one of them. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { useAddress } from './address.ts'
import { Empty } from './empty.tsx'
import { List } from './list.tsx'
import { Missing } from './missing.tsx'
import { RunView } from './run.tsx'
import { traceOf, useRun, useRuns } from './runs.ts'

const NARROW = 820

export function App() {
  const { runs, live, changes } = useRuns()
  const [address, go] = useAddress()
  const narrow = useWidth() < NARROW
  const asked = address.key ?? (narrow ? undefined : runs?.[0]?.key)
  // A run gets another key when its own span arrives: the page follows by its trace.
  const summary = runs?.find(({ key }) => key === asked) ?? runs?.find(({ key }) => asked && sameTrace(key, asked))
  const shown = summary?.key ?? asked
  const detail = useRun(shown, changes.get(traceOf(shown ?? '')) ?? 0)
  // The same elements are not compared again while somebody zooms.
  const list = useMemo(
    () => runs && <List runs={runs} live={live} shown={shown} isPage={narrow} onShow={(key) => go({ key })} />,
    [runs, live, shown, narrow],
  )
  if (!runs) return null
  if (runs.length === 0) return <Empty live={live} />
  return (
    <div class={narrow ? 'page narrow' : 'page'}>
      {!narrow && list}
      {narrow && shown === undefined && <main>{list}</main>}
      {detail === 'none' && <Missing narrow={narrow} onBack={() => go({ key: undefined })} />}
      {detail && detail !== 'none' && (
        <RunView
          key={detail.run.key}
          detail={detail}
          address={address}
          go={go}
          narrow={narrow}
          onBack={() => go({ key: undefined })}
        />
      )}
    </div>
  )
}

const sameTrace = (a: string, b: string): boolean => traceOf(a) === traceOf(b)

function useWidth(): number {
  const [width, setWidth] = useState(innerWidth)
  useEffect(() => {
    const measure = (): void => setWidth(innerWidth)
    addEventListener('resize', measure)
    return () => removeEventListener('resize', measure)
  }, [])
  return width
}
