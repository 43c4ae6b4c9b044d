/** Ends a stream when a signal aborts, even if the code that makes the stream does not heed the signal. */

import { turnIfDue } from '../flow/event-loop.ts'
import { byHand, close, type Flow, finished } from '../flow/flow.ts'

/**
 * The same stream, its events changed one by one. Once the signal aborts it is closed and throws the signal's reason: at once if
 * it is waited for, else when it is asked for more. It is asked for one event at a time. One that never waits does not keep the event loop.
 */
export function heeding<In, Out, Result>(
  stream: Flow<In, Result>,
  signal: AbortSignal,
  change: (event: In) => Out,
): Flow<Out, Result> {
  type Step = IteratorResult<Out, Result>
  let over = false
  /** Whoever waits for the next event, if somebody does. */
  let asked:
    | { readonly resolve: (step: Step | Promise<Step>) => void; readonly reject: (reason: unknown) => void }
    | undefined

  const end = () => {
    over = true
    asked = undefined
    signal.removeEventListener('abort', abort)
  }
  const leave = async () => {
    if (over) return
    end()
    await close(stream)
  }
  const leaveWith = async (error: unknown): Promise<never> => {
    await leave()
    throw error
  }
  const abort = () => {
    if (!asked) return
    const { reject } = asked
    // A stream that does not heed its signal must not hold the run.
    leave().catch(() => undefined)
    reject(signal.reason)
  }
  const changed = (step: IteratorResult<In, Result>): Step | Promise<Step> => {
    if (step.done) return step
    try {
      return { done: false, value: change(step.value) }
    } catch (error) {
      return leaveWith(error)
    }
  }
  const came = (step: IteratorResult<In, Result>) => {
    if (!asked) return
    const { resolve } = asked
    asked = undefined
    if (step.done) end()
    resolve(changed(step))
  }
  const failed = (error: unknown) => {
    if (!asked) return
    const { reject } = asked
    end()
    reject(error)
  }

  // Made once, not for each event.
  const begin = (resolve: (step: Step | Promise<Step>) => void, reject: (reason: unknown) => void) => {
    asked = { resolve, reject }
    stream.next().then(came, failed)
  }
  const ask = (): Promise<Step> => {
    if (over) return finished()
    return signal.aborted ? leaveWith(signal.reason) : new Promise(begin)
  }

  signal.addEventListener('abort', abort)
  return byHand({
    next: () => turnIfDue()?.then(ask) ?? ask(),
    async return(value) {
      await leave()
      return { done: true, value: await value }
    },
    throw: leaveWith,
  })
}
