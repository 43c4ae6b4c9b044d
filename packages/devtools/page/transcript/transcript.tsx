/** What was said and done, in order. */

import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Span } from '../../src/geometry/axis.ts'
import { timesOf } from '../../src/geometry/times.ts'
import { counted } from '../../src/geometry/words.ts'
import type { Run, Step } from '../../src/model/run.ts'
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

const MOST_CARDS = 150

/** The first steps that have together not many cards; at least one. */
function firstSteps(steps: readonly Step[]): readonly Step[] {
  let cards = 0
  const end = steps.findIndex(({ responses, calls }, index) => {
    cards += responses.length + calls.length
    return index > 0 && cards > MOST_CARDS
  })
  return end < 0 ? steps : steps.slice(0, end)
}

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
  const first = firstSteps(shown)
  const hidden = shown.length - first.length
  const cards = useMemo(
    () => first.map((step) => <StepText key={step.index} {...{ run, step, now, selected, onSelect }} />),
    [run, now, selected, onSelect, first[0], first.length],
  )
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
      {cards}
      {hidden > 0 && <p class="dim">{counted(hidden, 'more step')}: zoom in or move to see them.</p>}
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
