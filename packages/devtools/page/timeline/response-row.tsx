/** The responses of a step as ribbons; if the whole step is one row, with its calls as thin bars. */

import type { PackedBar, ResponseRow, StepRow } from '../../src/geometry/rows.ts'
import type { Response } from '../../src/model/run.ts'
import { barOfResponse } from '../selection.ts'
import { clipped, visible } from '../visible.ts'
import type { BarProps } from './bar-props.ts'
import { pathsOf } from './packed-row.tsx'

export interface RibbonsProps extends BarProps {
  readonly row: ResponseRow | StepRow
  readonly onOpen: () => void
}

const LEAST_TEXT = 46
const CHARACTER = 6

export function Ribbons({ row, axis, now, selected, onSelect, onPoint, onOpen }: RibbonsProps) {
  const { y, step, shift } = row
  const isStep = row.kind === 'step'
  const height = isStep ? 12 : row.depth > 0 ? 16 : 20
  const place = ({ from, to, lane }: PackedBar) => {
    const x = axis.x(from)
    return { x, y: y + 14 + (lane % 3) * 4.2, width: Math.max(2, axis.x(to) - x) }
  }
  return (
    <g>
      {step.responses.map((response) => {
        const { spanId, start, first, end = now, state } = response
        const bar = barOfResponse(response)
        const [x1, x2] = [axis.x(start + shift), axis.x(end + shift)]
        const xFirst = first === undefined ? undefined : axis.x(first + shift)
        const left = xFirst ?? x1
        const words = x2 - left > LEAST_TEXT ? clipped(wordsOf(response), (x2 - left - 12) / CHARACTER) : ''
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table and the transcript have the same for keys
          <g
            key={spanId}
            class={selected === bar ? 'hit selected' : 'hit'}
            data-bar={bar}
            onClick={() => (isStep ? onOpen() : onSelect(bar))}
            onMouseMove={(event) => onPoint({ x: event.clientX, y: event.clientY, row, part: { response } })}
          >
            <rect class={`ribbon ${state}`} x={x1} y={y} width={Math.max(2, x2 - x1)} height={height} rx="3" />
            {xFirst !== undefined && xFirst - x1 > 2 && (
              <rect class="before-first" x={x1} y={y} width={xFirst - x1} height={height} rx="3" />
            )}
            {xFirst !== undefined && <line class="first" x1={xFirst} x2={xFirst} y1={y} y2={y + height} />}
            {state === 'failed' && <line class="broken" x1={x2} x2={x2} y1={y - 2} y2={y + height + 2} />}
            {!isStep && words && (
              <text class={`ribbon-text ${state}`} x={left + 7} y={y + height / 2 + 4}>
                {words}
              </text>
            )}
          </g>
        )
      })}
      {isStep && pathsOf(row.bars, place, axis.width).map(([kind, path]) => <path key={kind} class={kind} d={path} />)}
    </g>
  )
}

function wordsOf({ state, error, text, end, model }: Response): string {
  if (state === 'failed') return `✕ ${visible(error ?? 'failed')}`
  return visible((text ?? (end === undefined ? 'streaming …' : (model ?? ''))).replace(/\s+/g, ' '))
}
