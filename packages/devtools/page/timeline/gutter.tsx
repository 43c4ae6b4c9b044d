/** The names of the rows. Those that have an arrow open and close what is inside. */

import { type Row, stepKey } from '../../src/geometry/rows.ts'
import { count, counted } from '../../src/geometry/words.ts'
import { clipped, visible } from '../visible.ts'

export interface GutterProps {
  readonly rows: readonly Row[]
  readonly gutter: number
  readonly folded: ReadonlySet<string>
  readonly onFold: (call: string) => void
  readonly onOpen: (step: string) => void
}

const INDENT = 14
const CHARACTER = 7.3

export function Gutter({ rows, gutter, folded, onFold, onOpen }: GutterProps) {
  return (
    <g>
      {rows.map((row) => {
        const { key, y, height, depth, step, run } = row
        const x = 4 + depth * INDENT
        const fits = Math.floor((gutter - x - 18) / CHARACTER)
        if (row.kind === 'packed') {
          return (
            <Opener key={key} x={x} y={y + 11} onClick={() => onOpen(stepKey(run, step))}>
              {`▸ ${counted(row.bars.length, 'call')}`}
            </Opener>
          )
        }
        if (row.kind === 'step') {
          return (
            <Opener key={key} x={x} y={y + 17} strong onClick={() => onOpen(key)}>
              {`▸ Step ${step.index}${step.calls.length > 0 ? ` · ${count(step.calls.length)}` : ''}`}
            </Opener>
          )
        }
        if (row.kind === 'responses') {
          const name =
            depth > 0 ? `${clipped(visible(run.agent ?? 'agent'), fits)} ${step.index}` : `Step ${step.index}`
          return (
            <text key={key} class="step-name" x={x} y={y + 16}>
              {name}
            </text>
          )
        }
        const { call } = row
        const name = clipped(visible(call.tool), fits)
        const place = y + height / 2 + 4
        if (call.inner.length === 0) {
          return (
            <text key={key} class={`call-name ${call.fate}`} x={x + 10} y={place}>
              {name}
            </text>
          )
        }
        return (
          <Opener key={key} x={x} y={place} code onClick={() => onFold(call.key)}>
            {`${folded.has(call.key) ? '▸' : '▾'} ${name}`}
          </Opener>
        )
      })}
    </g>
  )
}

interface OpenerProps {
  readonly x: number
  readonly y: number
  readonly strong?: boolean
  readonly code?: boolean
  readonly onClick: () => void
  readonly children: string
}

function Opener({ x, y, strong = false, code = false, onClick, children }: OpenerProps) {
  const press = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    onClick()
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no buttons
    <text
      class={['opens', strong && 'step-name', code && 'call-name'].filter(Boolean).join(' ')}
      x={x}
      y={y}
      role="button"
      tabIndex={0}
      onClick={onClick}
      onKeyDown={press}
    >
      {children}
    </text>
  )
}
