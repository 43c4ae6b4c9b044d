/** Makes one check of a guard: in a span, within its time, and failed unless it says that it has passed. */

import { type Awaitable, type Run, RunStop } from '@meanwhile/core'
import { GUARD, inSpan, isRecord, note, unlessAborted } from '@meanwhile/core/calls'
import { GuardError, type GuardPlace } from '../guard-error.ts'

/** What a check says. `reason`: why it has failed, for the error. */
export type GuardVerdict = { readonly pass: true } | { readonly pass: false; readonly reason?: string }

/** What a check receives besides what it checks. */
export interface GuardContext {
  /** Aborts with the run, and when the time of the check is over. */
  readonly signal: AbortSignal
  /** The run. The tokens of its `callModel` count in the usage of the run. */
  readonly run: Run
}

/** The data of the event `custom` with the name `guard`, one for each check. It has neither content nor the reason. */
export type GuardRecord = {
  readonly guard: string
  readonly place: GuardPlace
  readonly verdict: 'pass' | 'fail' | 'error'
  /** How long a response that had ended, or a call, waited for nothing but this check, in milliseconds. */
  readonly heldMs: number
}

/** What all checks of a guard in one run have in common. */
export interface GuardOf {
  readonly name: string
  readonly timeout: number
  /** Aborts when the run is over. */
  readonly ended: AbortSignal
}

interface Subject {
  readonly place: GuardPlace
  readonly run: Run
  check(context: GuardContext): Awaitable<GuardVerdict>
  /** Called with the verdict, before anything that waits for it goes on. */
  told?(failure: GuardError | undefined): void
}

/** A check that has begun. */
export class Check {
  /** Rejects with {@link GuardError} if it has failed, and with the reason of an abort. The rejection need not be handled. */
  readonly passed: Promise<void>
  #heldSince: number | undefined

  constructor(guard: GuardOf, { place, run, check, told }: Subject) {
    this.passed = inSpan(run, `${GUARD} ${guard.name}`, async (within, span) => {
      const { verdict, failure } = await judged(guard, place, within, check)
      const held = this.#heldSince === undefined ? 0 : performance.now() - this.#heldSince
      note(span, {
        'meanwhile.guard.name': guard.name,
        'meanwhile.guard.place': place,
        'meanwhile.guard.verdict': verdict,
        'meanwhile.guard.held': held / 1000,
      })
      const data: GuardRecord = { guard: guard.name, place, verdict, heldMs: Math.round(held) }
      run.emit({ name: 'guard', data })
      told?.(failure)
      if (failure) throw failure
    })
    this.passed.catch(() => undefined)
  }

  /** The same, when nothing else is waited for any more. */
  held(): Promise<void> {
    this.#heldSince ??= performance.now()
    return this.passed
  }
}

interface Judged {
  readonly verdict: GuardRecord['verdict']
  readonly failure?: GuardError
}

async function judged(
  { name, timeout, ended }: GuardOf,
  place: GuardPlace,
  run: Run,
  check: Subject['check'],
): Promise<Judged> {
  const over = AbortSignal.any([run.signal, ended])
  const time = new AbortController()
  const late = new Error(`the check took longer than ${timeout} ms`)
  const timer = timeout === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => time.abort(late), timeout)
  const failed = (verdict: 'fail' | 'error', reason: unknown, cause?: unknown) => ({
    verdict,
    failure: new GuardError(name, place, typeof reason === 'string' ? reason : undefined, cause ? { cause } : {}),
  })
  try {
    const signal = AbortSignal.any([over, time.signal])
    const said: unknown = await unlessAborted(given(check, { signal, run }), [signal])
    if (!isRecord(said) || typeof said.pass !== 'boolean') return failed('error', 'the check returned no verdict')
    return said.pass ? { verdict: 'pass' } : failed('fail', said.reason)
  } catch (cause) {
    // The run has ended, or has stopped: a resume checks again.
    over.throwIfAborted()
    if (cause instanceof RunStop) throw cause
    return failed('error', cause === late ? late.message : 'the check threw', cause)
  } finally {
    clearTimeout(timer)
  }
}

/** A check that throws at once rejects like any other. */
async function given(check: Subject['check'], context: GuardContext): Promise<unknown> {
  return await check(context)
}
