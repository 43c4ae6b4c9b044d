/** The wish to stop a run at a safe point: how strong it is, and what no longer starts because of it. */

import { ConfigError, RunCancelled, type RunStop } from '../errors.ts'
import { timer } from '../flow/grace.ts'
import { isRecord } from '../json.ts'
import { checkOptions, checkTime } from '../option-checks.ts'

/**
 * When a cancelled run stops: `after-tools` at the next complete step, `after-model` without starting anything new, `now`
 * at once. Each is stronger than the one before it (K8).
 */
export type CancelMode = 'after-tools' | 'after-model' | 'now'

export interface CancelOptions {
  /** Default `now`. */
  readonly at?: CancelMode
  /** Milliseconds from this call until the mode becomes `now` (K9). Default: never. */
  readonly escalateAfter?: number
}

const STRENGTH: readonly CancelMode[] = ['after-tools', 'after-model', 'now']

export class Cancel {
  /** Whether a time limit made it `now`. */
  escalated = false
  readonly #raised: (mode: CancelMode) => void
  readonly #halt = new AbortController()
  readonly #pause = new AbortController()
  readonly #timers: ReturnType<typeof timer>[] = []
  #mode: CancelMode | undefined
  #error: RunCancelled | undefined

  /** `raised` is told of each mode that is stronger than the last. */
  constructor(raised: (mode: CancelMode) => void) {
    this.#raised = raised
  }

  get mode(): CancelMode | undefined {
    return this.#mode
  }

  /** What comes up through wraps and calls when the run stops. Made when it is needed: an error notes its stack. */
  get error(): RunCancelled {
    return (this.#error ??= new RunCancelled())
  }

  /** Aborts when no call may start any more that has not started yet. */
  get halted(): AbortSignal {
    return this.#halt.signal
  }

  request(options: CancelOptions): void {
    const { at = 'now', escalateAfter } = checked(options)
    this.#raise(at)
    if (escalateAfter === undefined || at === 'now') return
    this.#timers.push(
      timer(escalateAfter, () => {
        if (this.#mode !== 'now') this.escalated = true
        this.#raise('now')
      }),
    )
  }

  /** Aborts when the run goes no further: what is provisional by then is decided after a resume. */
  get paused(): AbortSignal {
    return this.#pause.signal
  }

  /** Nothing starts and nothing is committed any more: what waits for either throws the run's stop, and a resume goes on with it. */
  pause(stop: RunStop): void {
    this.#halt.abort(stop)
    this.#pause.abort(this.halted.reason)
  }

  /** Throws at a safe point of this kind, if it is the one to stop at. */
  stopAt(point: Exclude<CancelMode, 'now'>): void {
    if (this.#mode !== undefined && STRENGTH.indexOf(this.#mode) >= STRENGTH.indexOf(point)) throw this.error
  }

  over(): void {
    for (const one of this.#timers) clearTimeout(one)
  }

  #raise(mode: CancelMode): void {
    if (this.#mode !== undefined && STRENGTH.indexOf(mode) <= STRENGTH.indexOf(this.#mode)) return
    this.#mode = mode
    if (mode !== 'after-tools') this.#halt.abort(this.error)
    this.#raised(mode)
  }
}

function checked(options: CancelOptions): CancelOptions {
  const given: unknown = options
  if (!isRecord(given)) throw new ConfigError('options', "must be an object, such as { at: 'after-tools' }")
  checkOptions('cancel', options, { at: 'mode', escalateAfter: 'timeout' })
  const { at = 'now', escalateAfter } = options
  if (!STRENGTH.includes(at)) throw new ConfigError('at', `must be one of ${STRENGTH.join(', ')}, not ${String(at)}`)
  if (escalateAfter !== undefined) checkTime('escalateAfter', escalateAfter)
  return options
}
