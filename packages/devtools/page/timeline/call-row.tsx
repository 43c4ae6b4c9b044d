/** One call: its executions, what it waited for, and in words how early it was. */

import type { CallRow } from '../../src/geometry/rows.ts'
import { labelOf } from '../../src/geometry/sentences.ts'
import { timesOf, workOf } from '../../src/geometry/times.ts'
import type { Call, Wait } from '../../src/model/run.ts'
import { barOfCall } from '../selection.ts'
import { visible } from '../visible.ts'
import { type BarProps, effectOf } from './bar-props.ts'
import { HELD, REST } from './patterns.tsx'

export interface CallBarsProps extends BarProps {
  readonly row: CallRow
}

const LEAST_BAR = 3
const LEAST_WAIT = 3
const CHARACTER = 6.3

export function CallBars({ row, axis, now, view, narrow, selected, onSelect, onPoint }: CallBarsProps) {
  const { call, step, shift, moved, run } = row
  const bar = barOfCall(call)
  const height = narrow ? 12 : row.height - 8
  const y = narrow ? row.y + 17 : row.y + 4
  const middle = y + height / 2
  // An agent inside is drawn as it was, with its waits.
  const isMoved = view !== 'was' && row.depth === 0
  const waits = isMoved ? [] : call.waits.filter(({ kind }) => kind !== 'slot')
  const until = call.end ?? now
  const lost = isMoved ? until - call.start - workOf(call, now) : 0
  const [x1, x2] = [axis.x(call.start + moved), axis.x(until + moved - lost)]
  const closed = call.closed === undefined ? undefined : axis.x(call.closed + (isMoved ? shift : moved))
  const left = closed === undefined ? x1 : Math.min(closed, x1)
  const right = waits.reduce((so, { to }) => Math.max(so, axis.x(to + moved)), x2)
  const label = view === 'was' ? labelOf(call, step, run.dialect, now) : ''
  const words = narrow ? [visible(call.tool), label].filter(Boolean).join(' ') : visible(label)
  const place = narrow
    ? ({ x: Math.max(2, Math.min(x1, axis.width - words.length * CHARACTER)), anchor: 'start' } as const)
    : besideBar(left, right, words.length * CHARACTER, axis.width)
  const isOver = place.x < axis.x(timesOf(step, now).stood + shift)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the transcript has the same for keys
    <g
      class={`hit ${call.fate}${selected === bar ? ' selected' : ''}`}
      data-bar={bar}
      onClick={() => onSelect(bar)}
      onMouseMove={(event) => onPoint({ x: event.clientX, y: event.clientY, row, part: { call } })}
    >
      <rect class="hit-area" x="-400" width="4000" y={row.y} height={row.height} />
      {closed !== undefined && x1 - closed > LEAST_WAIT && (
        <>
          <path class="waits" d={`M${closed} ${middle}H${x1}`} />
          <circle class="dot" cx={closed} cy={middle} r="2.5" />
        </>
      )}
      {call.executions.length > 1 && <path class="between" d={`M${x1} ${middle}H${x2}`} />}
      {call.executions.map((execution) => {
        const from = axis.x(execution.start + moved)
        const width = Math.max(LEAST_BAR, axis.x((execution.end ?? now) + moved - lost) - from)
        const kinds = [
          'bar',
          effectOf(call),
          call.fate,
          call.inner.length > 0 && 'agent',
          execution.end === undefined && 'open',
        ]
        return (
          <g key={execution.spanId} data-span={execution.spanId}>
            <rect
              class={kinds.filter(Boolean).join(' ')}
              x={from}
              y={y}
              width={width}
              height={height}
              rx={call.effect === 'external' ? 0 : 3}
            />
            {execution.error !== undefined && <path class="failed-end" d={`M${from + width - 1.5} ${y}v${height}`} />}
            {call.fate === 'discarded' && <path class="strike" d={`M${from - 3} ${middle}H${from + width + 3}`} />}
          </g>
        )
      })}
      {waits.map((wait) => (
        <WaitBar
          key={wait.kind}
          wait={wait}
          x1={axis.x(wait.from + moved)}
          x2={axis.x(wait.to + moved)}
          y={y}
          height={height}
        />
      ))}
      {words && (
        <text
          class={['words', isOver && 'over', labelKind(call, label)].filter(Boolean).join(' ')}
          x={place.x}
          y={narrow ? row.y + 12 : middle + 4}
          text-anchor={place.anchor}
        >
          {words}
        </text>
      )}
    </g>
  )
}

interface WaitBarProps {
  readonly wait: Wait
  readonly x1: number
  readonly x2: number
  readonly y: number
  readonly height: number
}

/** Over the bar it waits for the rest of its input; after it, it is done and waits for its response. */
function WaitBar({ wait: { kind }, x1, x2, y, height }: WaitBarProps) {
  if (kind === 'rest') {
    return <rect class="rest" fill={REST} x={x1} y={y} width={Math.max(1, x2 - x1)} height={height} />
  }
  const width = Math.max(1, x2 - x1 - 1)
  return <rect class="held" fill={HELD} x={x1 + 1} y={y + 3} width={width} height={height - 6} rx="2" />
}

const GAP = 6

/** Right of the bar if the words fit, else left of it, else inside at its right end. */
function besideBar(left: number, right: number, width: number, most: number) {
  if (right + GAP + width < most) return { x: right + GAP, anchor: 'start' } as const
  if (left - GAP - width > 0) return { x: left - GAP, anchor: 'end' } as const
  return { x: Math.min(right, most) - 4, anchor: 'end' } as const
}

function labelKind({ fate }: Call, label: string): string {
  if (fate === 'discarded') return 'discarded'
  return label.includes('early') ? 'early' : ''
}
