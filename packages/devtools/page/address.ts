/** What is shown is in the address of the page, so that it can be reloaded and sent. */

import { useEffect, useState } from 'preact/hooks'
import type { Span } from '../src/geometry/axis.ts'
import type { View } from '../src/geometry/views.ts'

export interface Address {
  /** The run that is shown. */
  readonly key?: string
  readonly view: View
  /** The bar that is selected. */
  readonly at?: string
  /** The part of the run, in milliseconds after its start; `all` shows a long run as a whole. */
  readonly window?: Span | 'all'
}

/** Without a key in the address the latest run is shown: `of` is the one in which something changes, and it stays when another run comes. */
export type Go = (change: Partial<{ [K in keyof Address]: Address[K] | undefined }>, of?: string) => void

export function useAddress(): readonly [Address, Go] {
  const [address, setAddress] = useState(read)
  useEffect(() => {
    const back = (): void => setAddress(read())
    addEventListener('popstate', back)
    return () => removeEventListener('popstate', back)
  }, [])
  const go: Go = (change, of) =>
    setAddress((shown) => {
      const kept = 'key' in change ? { view: shown.view } : { ...shown, key: shown.key ?? of }
      const next = { ...kept, ...change } as Address
      // Another run is a new page; another view of the same run is not.
      if (next.key !== shown.key) {
        clearTimeout(writing)
        history.pushState(null, '', write(next))
      } else writeSoon(next)
      return next
    })
  return [address, go]
}

const PAUSE_MS = 150
let writing: ReturnType<typeof setTimeout> | undefined

/** Zooming changes it with each frame, and browsers allow only some changes of an address in a second. */
function writeSoon(address: Address): void {
  clearTimeout(writing)
  writing = setTimeout(() => history.replaceState(null, '', write(address)), PAUSE_MS)
}

const VIEWS: readonly View[] = ['was', 'after', 'serial', 'bound']

function read(): Address {
  const key = /^\/run\/([0-9a-f]{32}-[0-9a-f]{16})$/.exec(location.pathname)?.[1]
  const asked = new URLSearchParams(location.search)
  const at = asked.get('at')
  const [from, to] = [Number(asked.get('from') ?? Number.NaN), Number(asked.get('to') ?? Number.NaN)]
  return {
    view: VIEWS.find((view) => view === asked.get('view')) ?? 'was',
    ...(key !== undefined && { key }),
    ...(at !== null && { at }),
    ...(to > from && { window: { from, to } }),
    ...(asked.has('all') && { window: 'all' as const }),
  }
}

function write({ key, view, at, window }: Address): string {
  const asked = new URLSearchParams()
  if (view !== 'was') asked.set('view', view)
  if (at !== undefined) asked.set('at', at)
  if (window === 'all') asked.set('all', '')
  else if (window) {
    asked.set('from', String(Math.round(window.from)))
    asked.set('to', String(Math.round(window.to)))
  }
  const query = asked.toString()
  return `${key === undefined ? '/' : `/run/${key}`}${query ? `?${query}` : ''}`
}
