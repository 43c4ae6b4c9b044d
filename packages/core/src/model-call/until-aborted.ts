/** Reads the stream of a model until a signal aborts. */

import { turnIfDue } from '../flow/event-loop.ts'
import { close, type Flow, finished, leavable } from '../flow/flow.ts'

/**
 * Returns the same stream with each event changed. Once the signal aborts, the stream is closed and throws the signal's reason: immediately if a
 * reader is waiting, otherwise at the next read. It reads one event at a time. A stream that never waits does not block the event loop.
 */
export function untilAborted<In, Out, Result>(
  stream: Flow<In, Result>,
  signal: AbortSignal,
  change: (event: In) => Out,
): Flow<Out, Result> {
  type Step = IteratorResult<Out, Result>
  let over = false
  /** The reader that waits for the next event, if there is one. */
  let asked: { resolve(step: Step | Promise<Step>): void; reject(reason: unknown): void } | undefined

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
    // A stream that ignores its signal must not delay the run.
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

  // Created once, not for each event.
  const begin = (resolve: (step: Step | Promise<Step>) => void, reject: (reason: unknown) => void) => {
    asked = { resolve, reject }
    stream.next().then(came, failed)
  }
  const ask = (): Promise<Step> => {
    if (over) return finished()
    return signal.aborted ? leaveWith(signal.reason) : new Promise(begin)
  }

  signal.addEventListener('abort', abort)
  return leavable(() => turnIfDue()?.then(ask) ?? ask(), leave)
}
