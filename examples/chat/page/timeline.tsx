/** The line and the picture under an answer: when the model wrote and when the tools ran. */

import type { CSSProperties } from 'react'
import { type Times, totals } from '../times.ts'

interface TimelineProps {
  readonly times: Times
  /** A turn that was cut saves nothing. */
  readonly state: 'live' | 'cut' | 'done'
}

export const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

export function Verdict({ times, state }: TimelineProps) {
  const { total, other } = totals(times)
  // As the two figures say.
  const gain = seconds(Math.abs(Math.round(other / 100) - Math.round(total / 100)) * 100)
  const saving = () => {
    if (times.steps.every(({ calls }) => calls.length === 0)) return ' · no tools, nothing to save'
    if (gain === seconds(0)) return ` · the same ${times.early ? 'without' : 'with'} early tools`
    if (times.early) return <b className="saved"> · early tools saved {gain}</b>
    return [' · early tools would save ', <b key="gain">{gain}</b>]
  }
  return (
    <>
      <strong>{seconds(total)}</strong>
      {state === 'live' ? ' so far' : state === 'done' && saving()}
      {times.breaks.some(({ why }) => why === 'restart') && ' · without what a restart lost'}
    </>
  )
}

export function Timeline({ times, state }: TimelineProps) {
  const { steps, breaks, early } = times
  const { total, other } = totals(times)
  // Calls of two responses may have the same id.
  const calls = steps.flatMap((step, number) => step.calls.map((call) => ({ ...call, key: `${number} ${call.id}` })))
  const isLive = state === 'live'
  const saved = state === 'done' && early && other - total >= 50
  // While it runs the scale grows in steps, so that the bars stay where they are.
  const span = isLive ? Math.max(4_000, Math.ceil((total + 300) / 2_000) * 2_000) : Math.max(total, other, 1)
  const share = (ms: number) => `${(100 * ms) / span}%`
  /** `which`: of those with this name, because two may be at the same place. */
  const mark = (name: string, which: number, from: number, to = from, state?: string) => {
    const style = { left: share(from), width: share(to - from) }
    return <i key={`${name} ${which}`} className={name} data-state={state} style={style} />
  }
  const label = (text: string, which: number, at: number, name?: string) => (
    <span key={`${text} ${which}`} className={name} style={{ left: share(at) }}>
      {text}
    </span>
  )
  const distance = 2_000 * Math.ceil(span / 14_000)
  const marked = Array.from({ length: Math.ceil(span / distance) - 1 }, (_, n) => distance * (n + 1))
  const inWords = [
    seconds(total) + (saved ? `, ${seconds(other)} without early tools` : ''),
    ...steps.map(({ at, end = total }) => `the model writes from ${seconds(at)} to ${seconds(end)}`),
    ...calls.map(({ tool, start = total, end = total }) => `${tool} from ${seconds(start)} to ${seconds(end)}`),
  ]
  return (
    <div
      className="timeline"
      role="img"
      aria-label={inWords.join('; ')}
      style={{ '--rows': 1 + calls.length } as CSSProperties}
    >
      <div className="names">
        <span>model</span>
        {calls.map(({ key, tool }) => (
          <code key={key}>{tool}</code>
        ))}
      </div>
      <div className="tracks">
        {saved && mark('spared', 0, total, other)}
        {steps.map(({ at, end = total }, which) => mark('canopy', which, at, end))}
        <div>
          {steps.map(({ at, end = total }, which) => mark('ribbon', which, at, end))}
          {steps.map(({ first }, which) => first !== undefined && mark('first', which, first))}
        </div>
        {calls.map(({ key, ready = total, start = total, end, isFailed }) => (
          <div key={key}>
            {start - ready > 30 && mark('waits', 0, ready, start)}
            {start < total && mark('bar', 0, start, end ?? total, isFailed ? 'failed' : end ? 'done' : 'open')}
          </div>
        ))}
        {breaks.map(({ at, why }, which) => mark('break', which, at, at, why))}
        {mark('end', 0, total, total, state)}
      </div>
      <div className="axis">
        {label('0', 0, 0)}
        {breaks.map(({ at, why }, which) => label(why, which, at, 'break'))}
        {isLive && marked.map((ms) => label(`${ms / 1_000} s`, 0, ms))}
        {!isLive && label(seconds(total), 0, total, saved ? 'to saved' : 'to')}
        {saved && (other - total) / span > 0.17 && label(seconds(other), 1, other, 'to')}
      </div>
    </div>
  )
}
