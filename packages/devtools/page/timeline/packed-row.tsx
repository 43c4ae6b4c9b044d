/** Many calls of a step as thin bars in few lanes. One path for each colour: hundreds of bars are a few elements. */

import { PACKED_LANE, type PackedBar, type PackedRow } from '../../src/geometry/rows.ts'
import { barOfCall } from '../selection.ts'
import { type BarProps, effectOf } from './bar-props.ts'

export interface PackedBarsProps extends BarProps {
  readonly row: PackedRow
}

const LEAST_BAR = 2
const NEAR = 3

export function PackedBars({ row, axis, selected, onSelect, onPoint }: PackedBarsProps) {
  const place = ({ from, to, lane }: PackedBar) => {
    const x = axis.x(from)
    return { x, y: row.y + lane * PACKED_LANE, width: Math.max(LEAST_BAR, axis.x(to) - x - 0.5) }
  }
  const barAt = (event: MouseEvent & { readonly currentTarget: Element }): PackedBar | undefined => {
    const box = event.currentTarget.getBoundingClientRect()
    const [x, lane] = [event.clientX - box.left, Math.floor((event.clientY - box.top) / PACKED_LANE)]
    return row.bars.find((bar) => {
      const { x: left, width } = place(bar)
      return bar.lane === lane && x > left - NEAR && x < left + width + NEAR
    })
  }
  const chosen = row.bars.find(({ call }) => barOfCall(call) === selected)
  return (
    <g class="hit">
      {pathsOf(row.bars, place, axis.width).map(([kind, path]) => (
        <path key={kind} class={kind} d={path} />
      ))}
      {chosen && <rect class="chosen-bar" {...place(chosen)} height={PACKED_LANE - 1} rx="1" />}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the transcript has the same for keys */}
      <rect
        class="hit-area"
        x="0"
        y={row.y}
        width={axis.width}
        height={row.height}
        onClick={(event) => {
          const bar = barAt(event)
          if (bar) onSelect(barOfCall(bar.call))
        }}
        onMouseMove={(event) => {
          const bar = barAt(event)
          if (bar) onPoint({ x: event.clientX, y: event.clientY, row, part: { call: bar.call } })
        }}
      />
    </g>
  )
}

/** Bars that can be seen, by their colour. */
export function pathsOf(
  bars: readonly PackedBar[],
  place: (bar: PackedBar) => { readonly x: number; readonly y: number; readonly width: number },
  width: number,
): (readonly [string, string])[] {
  const paths = new Map<string, string[]>()
  for (const bar of bars) {
    const at = place(bar)
    if (at.x > width + 10 || at.x + at.width < -10) continue
    const kind = `bar ${effectOf(bar.call)} ${bar.call.fate}`
    const path = paths.get(kind) ?? []
    paths.set(kind, path)
    const across = at.width.toFixed(1)
    path.push(`M${at.x.toFixed(1)} ${at.y.toFixed(1)}h${across}v${PACKED_LANE - 1}h-${across}z`)
  }
  return [...paths].map(([kind, path]) => [kind, path.join('')] as const)
}
