/** The title of a run and its figures. */

import type { ComponentChildren } from 'preact'
import { count, counted, duration } from '../src/geometry/words.ts'
import type { RunDetail } from '../src/server/api.ts'
import { errorsOf } from './selection.ts'
import { visible } from './visible.ts'

export interface HeadProps {
  readonly detail: RunDetail
  readonly now: number
  readonly narrow: boolean
  readonly selected: string | undefined
  readonly onBack: () => void
  readonly onSelect: (at: string | undefined) => void
}

export function Head({ detail, now, narrow, selected, onBack, onSelect }: HeadProps) {
  const { run, saving, dropped } = detail
  const { usage } = run
  const length = (run.end ?? now) - run.start
  const nextError = (): void => {
    const errors = errorsOf(run)
    onSelect(errors[(errors.indexOf(selected ?? '') + 1) % errors.length])
  }
  const about = [run.agent, run.model, run.service, new Date(run.start).toLocaleTimeString()]
  return (
    <header class="head">
      {narrow && <Back onBack={onBack} />}
      <h1>{visible(run.title ?? run.agent ?? run.model ?? 'Run')}</h1>
      <p class="about">
        {about
          .filter(Boolean)
          .map((one) => visible(one ?? ''))
          .join(' · ')}
        {run.state !== 'completed' && <b class={`badge ${run.state}`}>{run.state}</b>}
        {run.continues !== undefined && <a href={`/run/${run.continues}`}>continues an earlier run</a>}
        <a href={`/api/runs/${run.key}/otlp`} download>
          Download
        </a>
      </p>
      <dl class="figures">
        <Figure name="Duration">{duration(length)}</Figure>
        {run.early && run.state !== 'running' && saving.after > 1 && (
          <Figure name="Saved by early tools" kind="good">
            {duration(saving.after)}
          </Figure>
        )}
        {saving.upTo !== undefined && saving.upTo > 5 && run.state !== 'running' && (
          <Figure name="Early tools would save" kind="good">
            up to {duration(saving.upTo)}
          </Figure>
        )}
        <Figure name="Steps · calls">
          {count(run.steps.length)} · {count(run.calls)}
        </Figure>
        <Figure
          name="Tokens read"
          more={usage.cacheRead && usage.input ? `${percent(usage.cacheRead, usage.input)} cached` : ''}
        >
          {count(usage.input)}
        </Figure>
        <Figure name="Tokens written" more={usage.reasoning ? `${count(usage.reasoning)} thinking` : ''}>
          {count(usage.output)}
        </Figure>
        <Figure name="Cost">–</Figure>
        {run.errors > 0 && (
          <Figure name="Errors" kind="bad">
            <button
              type="button"
              class="next-error"
              onClick={nextError}
              aria-label={`${counted(run.errors, 'error')}: show the next`}
            >
              {count(run.errors)}
            </button>
          </Figure>
        )}
      </dl>
      {run.error !== undefined && <p class="bad">{visible(run.error)}</p>}
      {run.impossible > 0 && (
        <p class="dim">{counted(run.impossible, 'span')} with impossible times: not drawn, but in the download.</p>
      )}
      {dropped > 0 && <p class="dim">{counted(dropped, 'span')} of this trace were not kept: it is too large.</p>}
    </header>
  )
}

/** Leads to the list on a narrow page. */
export function Back({ onBack }: { readonly onBack: () => void }) {
  return (
    <button type="button" class="back" onClick={onBack}>
      ← Runs
    </button>
  )
}

interface FigureProps {
  readonly name: string
  readonly kind?: 'good' | 'bad'
  readonly more?: string
  readonly children: ComponentChildren
}

function Figure({ name, kind, more, children }: FigureProps) {
  return (
    <div class={kind}>
      <dt>{name}</dt>
      <dd>
        {children}
        {more && <small> {more}</small>}
      </dd>
    </div>
  )
}

export const percent = (part: number, whole: number): string => `${Math.round((part / whole) * 100)} %`
