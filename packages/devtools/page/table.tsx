/** The responses of a run in figures. */

import type { Span } from '../src/geometry/axis.ts'
import { count, duration } from '../src/geometry/words.ts'
import type { Response, Run, Usage } from '../src/model/run.ts'
import { percent } from './head.tsx'
import { barOfResponse } from './selection.ts'
import { visible } from './visible.ts'

export interface ResponseTableProps {
  readonly run: Run
  readonly now: number
  readonly selected: string | undefined
  readonly onSelect: (at: string) => void
  readonly window?: Span
  readonly narrow: boolean
}

const MOST_ROWS = 60

export function ResponseTable({ run, now, selected, onSelect, window, narrow }: ResponseTableProps) {
  const rows = run.steps
    .flatMap(({ index, responses }) =>
      responses.map((response, nth) => ({ response, name: nameOf(index, nth, responses.length) })),
    )
    .filter(({ response: { start, end = now } }) => !window || (start < window.to && end > window.from))
    .slice(0, MOST_ROWS)
  const most = rows.reduce((so, { response }) => Math.max(so, response.usage.input ?? 0), 1)
  return (
    <table class="responses">
      <thead>
        <tr>
          <th scope="col">Response</th>
          {!narrow && <th scope="col">Model</th>}
          <th scope="col" class="number">
            First token
          </th>
          <th scope="col" class="number">
            Duration
          </th>
          <th scope="col" class="number">
            Read
          </th>
          <th scope="col">from cache</th>
          <th scope="col" class="number">
            Written
          </th>
          {!narrow && (
            <th scope="col" class="number">
              Cost
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ response, name }) => (
          <tr
            key={response.spanId}
            class={selected === barOfResponse(response) ? 'selected' : undefined}
            onClick={() => onSelect(barOfResponse(response))}
          >
            <th scope="row">
              {name}
              {response.state === 'failed' && <span class="bad"> failed</span>}
            </th>
            {!narrow && <td class="dim">{visible(response.model ?? '–')}</td>}
            <td class="number">{response.first === undefined ? '–' : duration(response.first - response.start)}</td>
            <td class="number">{lengthOf(response, now)}</td>
            <td class="number">{count(response.usage.input)}</td>
            <td class="share">
              <CacheBar usage={response.usage} most={most} />
            </td>
            <td class="number">{count(response.usage.output)}</td>
            {!narrow && <td class="number dim">–</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const nameOf = (step: number, nth: number, attempts: number): string =>
  attempts > 1 ? `Step ${step}, attempt ${nth + 1}` : `Step ${step}`

const lengthOf = ({ start, end = Number.NaN }: Response, now: number): string =>
  duration((Number.isNaN(end) ? now : end) - start)

function CacheBar({ usage: { input, cacheRead = 0 }, most }: { readonly usage: Usage; readonly most: number }) {
  if (!input) return null
  return (
    <svg
      width="100%"
      height="8"
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${percent(cacheRead, input)} from the cache`}
    >
      <rect width={(input / most) * 100} height="8" class="ribbon" />
      <rect width={(cacheRead / most) * 100} height="8" class="cached" />
    </svg>
  )
}
