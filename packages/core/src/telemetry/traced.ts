/**
 * Runs a flow inside a span. A generator runs in the context of the code that reads its next value (nodejs/node#42237), so every step
 * re-enters the span's context; the reader keeps its own context.
 */

import { context } from '@opentelemetry/api'
import { byHand, type Flow, finished } from '../flow/flow.ts'
import type { StartedSpan } from './span-table.ts'

/** How the work ended. Neither member is present if its reader has closed it before. */
export interface End<Result> {
  readonly returned?: { readonly result: Result }
  /** What is thrown, which may replace what was `thrown`. */
  readonly error?: unknown
  readonly thrown?: unknown
}

/** The work inside a span. */
export interface Work<Facts, Open, Came, Made, Result> {
  begin(): Facts
  make(open: Open): Made
  /** The work returned. The returned value is the result. A throw here counts as an error of the work. */
  done(result: Result): Result
  /** The work threw. The returned value is thrown instead. */
  failed(thrown: unknown): unknown
  /** Called last, once. */
  came(end: End<Result>): Came
}

/** The span begins with the first step: a flow that is never read opens no span. */
export interface FlowWork<Facts, Open, Came, Event, Result>
  extends Work<Facts, Open, Came, Flow<Event, Result>, Result> {
  /** Changes each event. A throw here counts as an error of the flow. */
  event?(event: Event): Event
  /** The flow is closed before its end. Cancel what it waits for here, because otherwise it cannot be closed before that has happened. */
  closing?(): void
  /** The flow has ended or was closed by its reader. The reader of the last step waits for this promise. */
  out?(): Promise<unknown>
}

export function traced<Facts, Open extends StartedSpan<Came>, Came, Event, Result>(
  work: FlowWork<Facts, Open, Came, Event, Result>,
  start: () => Open,
): Flow<Event, Result> {
  type Step = IteratorResult<Event, Result>
  let span: Open | undefined
  let flow: Flow<Event, Result> | undefined
  let isOut = false
  let over: Promise<void> | undefined

  const ended = async (came: End<Result>) => {
    isOut = true
    if (!span) return
    if (work.out) await work.out()
    span.end(work.came(came))
  }

  const failed = async (thrown: unknown): Promise<never> => {
    if (isOut) {
      await over
      throw thrown
    }
    const error = work.failed(thrown)
    await (over = ended({ error, thrown }))
    throw error
  }

  const returned = async (last: IteratorReturnResult<Result>, closing: boolean): Promise<Step> => {
    if (isOut || !span) {
      await over
      return last
    }
    try {
      const result = closing ? last.value : work.done(last.value)
      await (over = ended(closing ? {} : { returned: { result } }))
      return { done: true, value: result }
    } catch (thrown) {
      return failed(thrown)
    }
  }

  const came = (result: Step): Step | Promise<Step> => {
    if (result.done) return returned(result, false)
    if (!work.event) return result
    try {
      return { done: false, value: work.event(result.value) }
    } catch (thrown) {
      return failed(thrown)
    }
  }

  const closed = (result: Step) => (result.done ? returned(result, true) : came(result))

  const within = (open: Open, advance: (flow: Flow<Event, Result>) => Promise<Step>) => {
    flow ??= work.make(open)
    return advance(flow)
  }

  // Not an async function, because each event would wait for it.
  const step = (advance: (flow: Flow<Event, Result>) => Promise<Step>, then = came): Promise<Step> => {
    let open: Open
    try {
      open = span ??= start()
    } catch (thrown) {
      return Promise.reject(thrown)
    }
    try {
      return Promise.resolve(context.with(open.context, within, undefined, open, advance)).then(then, failed)
    } catch (thrown) {
      return failed(thrown)
    }
  }

  return byHand({
    next: () => (isOut ? finished() : step(next)),
    async return(value) {
      if (flow && !isOut) {
        work.closing?.()
        return step((inner) => inner.return(value), closed)
      }
      isOut = true
      await over
      return { done: true, value: await value }
    },
    async throw(error) {
      if (flow && !isOut) return step((inner) => inner.throw(error))
      isOut = true
      throw error
    },
  })
}

function next<Event, Result>(flow: Flow<Event, Result>): Promise<IteratorResult<Event, Result>> {
  return flow.next()
}
