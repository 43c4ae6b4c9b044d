/** The whole run of a long one in a strip, with the part that is shown. */

import { useMemo, useRef } from 'preact/hooks'
import type { Axis, Span } from '../../src/geometry/axis.ts'
import type { Layout } from '../../src/geometry/views.ts'
import { counted } from '../../src/geometry/words.ts'
import type { Run } from '../../src/model/run.ts'
import { effectOf } from './bar-props.ts'

export interface OverviewProps {
  readonly run: Run
  readonly layout: Layout
  readonly axis: Axis
  readonly now: number
  readonly gutter: number
  readonly width: number
  readonly whole: Span
  readonly first: Span | undefined
  readonly window?: Span
  readonly onZoom: (window: Span | undefined) => void
}

const HEIGHT = 34

export function Overview({ run, layout, axis, now, gutter, width, whole, first, window, onZoom }: OverviewProps) {
  const paths = useMemo(() => pathsOf(layout, axis, now), [layout, axis, now])
  const dragged = useRef(false)
  const move = (event: PointerEvent & { readonly currentTarget: SVGElement }): void => {
    if (!dragged.current || !window) return
    const place = event.clientX - event.currentTarget.getBoundingClientRect().left - gutter
    const length = window.to - window.from
    const from = Math.max(whole.from, Math.min(whole.to - length, axis.time(place) - length / 2))
    onZoom({ from, to: from + length })
  }
  const [x1, x2] = [axis.x(window?.from ?? whole.from), axis.x(window?.to ?? whole.to)]
  return (
    <div class="overview">
      <button type="button" onClick={() => onZoom(window ? undefined : first)}>
        {window ? `All ${counted(run.steps.length, 'step')}` : 'First steps'}
      </button>
      <svg
        width={gutter + width + 20}
        height={HEIGHT}
        aria-hidden="true"
        onPointerDown={(event) => {
          dragged.current = true
          event.currentTarget.setPointerCapture(event.pointerId)
          move(event)
        }}
        onPointerMove={move}
        onPointerUp={() => {
          dragged.current = false
        }}
      >
        <g transform={`translate(${gutter} 0)`}>
          {paths.map(([kind, path]) => (
            <path key={kind} class={kind} d={path} />
          ))}
          {axis.folds.map(({ x, from }) => (
            <path key={from} class="fold" d={`M${x + 12} 0V30M${x + 22} 0V30`} />
          ))}
          {window && (
            <>
              <rect class="shade" x="-4" width={Math.max(0, x1 + 4)} height="32" />
              <rect class="shade" x={x2} width={Math.max(0, width - x2 + 6)} height="32" />
              <rect class="window" x={x1} y="0.5" width={Math.max(6, x2 - x1)} height="31" rx="4" />
            </>
          )}
        </g>
      </svg>
    </div>
  )
}

/** One path for each colour: thousands of marks are a few elements. */
function pathsOf({ steps }: Layout, axis: Axis, now: number): (readonly [string, string])[] {
  const paths = new Map<string, string[]>()
  const add = (kind: string, from: number, to: number, y: number, height: number): void => {
    const x = axis.x(from)
    const width = Math.max(1.5, axis.x(to) - x).toFixed(1)
    const path = paths.get(kind) ?? []
    paths.set(kind, path)
    path.push(`M${x.toFixed(1)} ${y}h${width}v${height}h-${width}z`)
  }
  for (const { step, times, shift, starts } of steps) {
    add('ribbon', times.start + shift, times.stood + shift, 2, 9)
    for (const [index, call] of step.calls.entries()) {
      const from = starts[index] ?? call.start
      const kind = call.fate === 'failed' ? 'bar bad' : `bar ${effectOf(call)}`
      add(kind, from, from + (call.end ?? now) - call.start, 13 + (index % 4) * 3.6, 2.8)
    }
  }
  return [...paths].map(([kind, path]) => [kind, path.join('')] as const)
}
