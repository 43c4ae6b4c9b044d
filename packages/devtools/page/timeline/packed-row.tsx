/** Many calls of a step as thin bars in few lanes. */

import { PACKED_LANE, type PackedRow } from '../../src/geometry/rows.ts'
import { barOfCall } from '../selection.ts'
import { type BarProps, effectOf } from './bar-props.ts'

export interface PackedBarsProps extends BarProps {
  readonly row: PackedRow
}

export function PackedBars({ row, axis, selected, onSelect, onPoint }: PackedBarsProps) {
  const seen = row.bars.filter(({ from, to }) => axis.x(to) > -10 && axis.x(from) < axis.width + 10)
  return (
    <g>
      {seen.map(({ call, from, to, lane }) => {
        const x = axis.x(from)
        const bar = barOfCall(call)
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: the transcript has the same for keys
          <g
            key={call.key}
            class={selected === bar ? 'hit selected' : 'hit'}
            data-bar={bar}
            onClick={() => onSelect(bar)}
            onMouseMove={(event) => onPoint({ x: event.clientX, y: event.clientY, row, part: { call } })}
          >
            <rect
              class={`bar ${effectOf(call)} ${call.fate}`}
              x={x}
              y={row.y + lane * PACKED_LANE}
              width={Math.max(2, axis.x(to) - x - 0.5)}
              height={PACKED_LANE - 1}
              rx="1"
            />
          </g>
        )
      })}
    </g>
  )
}
