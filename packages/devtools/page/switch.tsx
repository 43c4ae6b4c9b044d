/** The same run with the calls at other times: as it was, after the stream, one by one, as early as possible. */

import type { View } from '../src/geometry/views.ts'
import { duration } from '../src/geometry/words.ts'
import type { RunDetail } from '../src/server/api.ts'

export interface SwitchProps {
  readonly detail: RunDetail
  readonly view: View
  readonly onView: (view: View) => void
}

export function Switch({ detail: { run, saving }, view, onView }: SwitchProps) {
  const length = (run.end ?? run.start) - run.start
  const options: readonly (readonly [View, string, number])[] = [
    ['was', 'As it was', 0],
    ['after', 'After the stream', saving.after],
    ['serial', 'One by one', saving.serial],
    ['bound', run.early ? 'The bound' : 'Early, at best', saving.bound],
  ]
  // Without the time of the first token nobody knows what is best.
  const known = options.filter(([name]) => name !== 'bound' || run.early || saving.upTo !== undefined)
  return (
    <fieldset class="switch">
      <legend>When the tools run</legend>
      {known.map(([name, words, difference]) => (
        <label key={name} class={view === name ? 'chosen' : undefined}>
          <input type="radio" name="view" checked={view === name} onChange={() => onView(name)} />
          <span>{words}</span>
          <small>
            <Change
              view={name}
              length={length}
              difference={isTheSame(difference, length, run.dialect === 'meanwhile') ? 0 : difference}
            />
          </small>
        </label>
      ))}
      {!run.early && saving.upTo === undefined && <p class="dim">This trace does not say when the first token came.</p>}
      {!run.early && (saving.upTo ?? 0) > LEAST_MS && (
        <a class="dim" href="https://www.npmjs.com/package/@meanwhile/eager-tools" target="_blank" rel="noreferrer">
          at most: effects decide
        </a>
      )}
    </fieldset>
  )
}

const LEAST_MS = 5

/** The times of other libraries' spans are not exact enough for less. */
function isTheSame(difference: number, length: number, isOurs: boolean): boolean {
  return Math.abs(difference) < (isOurs ? 1 : Math.max(10, length * 0.004))
}

interface ChangeProps {
  readonly view: View
  readonly length: number
  readonly difference: number
}

function Change({ view, length, difference }: ChangeProps) {
  if (difference === 0) return <>{view === 'was' ? duration(length) : 'the same'}</>
  const sign = difference > 0 ? '+' : '−'
  return (
    <>
      {duration(length + difference)}{' '}
      <em class={difference > 0 ? 'bad' : 'good'}>
        {sign}
        {duration(Math.abs(difference))}
      </em>
    </>
  )
}
