/** What the colours and marks mean: those that the run has. */

import { useMemo } from 'preact/hooks'
import type { Call, Run } from '../src/model/run.ts'
import { HELD } from './timeline/patterns.tsx'

const EFFECTS = ['read', 'idempotent', 'reversible', 'external', 'calls']

export function Legend({ run }: { readonly run: Run }) {
  const calls = useMemo(() => callsOf(run), [run])
  const effects = new Set(calls.map(({ effect }) => effect ?? 'unknown'))
  return (
    <ul class="legend">
      <li>
        <svg width="26" height="12" aria-hidden="true">
          <rect width="26" height="12" rx="2" class="canopy" />
          <rect width="26" height="5" rx="2" class="ribbon" />
        </svg>
        the model streams
      </li>
      {[...EFFECTS, 'unknown'].map(
        (effect) =>
          effects.has(effect) && (
            <li key={effect}>
              <svg width="18" height="12" aria-hidden="true">
                <rect y="2" width="18" height="8" rx={effect === 'external' ? 0 : 2} class={`bar ${effect}`} />
              </svg>
              {effect === 'unknown' ? 'tool (effect unknown)' : effect}
            </li>
          ),
      )}
      {calls.some(({ closed, start }) => closed !== undefined && start > closed) && (
        <li>
          <svg width="26" height="12" aria-hidden="true">
            <circle cx="3" cy="6" r="2.5" class="dot" />
            <path d="M3 6H26" class="waits" />
          </svg>
          arguments complete, waits
        </li>
      )}
      {calls.some(({ waits }) => waits.some(({ kind }) => kind === 'commit')) && (
        <li>
          <svg width="26" height="12" aria-hidden="true">
            <rect y="2" width="26" height="8" rx="2" class="held" fill={HELD} />
          </svg>
          done, waits for its response
        </li>
      )}
    </ul>
  )
}

function callsOf(run: Run): Call[] {
  const own = run.steps.flatMap(({ calls }) => calls.flatMap((call) => [call, ...call.inner.flatMap(callsOf)]))
  return [...own, ...run.inner.flatMap(callsOf)]
}
