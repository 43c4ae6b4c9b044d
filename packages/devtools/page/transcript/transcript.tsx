/** What was said and done, in order. */

import { useEffect, useRef } from 'preact/hooks'
import type { Span } from '../../src/geometry/axis.ts'
import { timesOf } from '../../src/geometry/times.ts'
import type { Run } from '../../src/model/run.ts'
import { CopyButton } from '../copy-button.tsx'
import { StepText } from './step-text.tsx'
import { Text } from './text.tsx'

export interface TranscriptProps {
  readonly run: Run
  readonly now: number
  readonly selected: string | undefined
  readonly onSelect: (at: string) => void
  readonly window?: Span
}

const MOST_STEPS = 30

export function Transcript({ run, now, selected, onSelect, window }: TranscriptProps) {
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    if (selected === undefined) return
    const card = box.current?.querySelector(`[data-card="${CSS.escape(selected)}"]`)
    const inside = card?.closest('details')
    if (inside) inside.open = true
    const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'
    card?.scrollIntoView({ block: 'nearest', behavior })
  }, [selected])
  const shown = run.steps.filter((step) => {
    if (!window) return true
    const { start, end } = timesOf(step, now)
    return start < window.to && end > window.from
  })
  const hidden = shown.length - MOST_STEPS
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <aside class="transcript" ref={box} tabIndex={0} aria-label="Transcript">
      {!run.hasContent && run.state !== 'running' && <NoContent />}
      {run.prompt !== undefined && (
        <section class="card user">
          <h2>User</h2>
          <Text text={run.prompt} />
        </section>
      )}
      {shown.slice(0, MOST_STEPS).map((step) => (
        <StepText key={step.index} {...{ run, step, now, selected, onSelect }} />
      ))}
      {hidden > 0 && <p class="dim">{hidden} more steps. Zoom in to see them.</p>}
    </aside>
  )
}

const SWITCH = 'export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true'

function NoContent() {
  return (
    <section class="card none">
      <h2>No content in this trace</h2>
      <p>Prompts, arguments and results are only recorded if you ask for them:</p>
      <div class="paste">
        <pre>{SWITCH}</pre>
        <CopyButton text={SWITCH} />
      </div>
    </section>
  )
}
