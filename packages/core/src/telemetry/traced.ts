/**
 * A flow inside a span. A generator runs in the context of whoever asks for its next value (nodejs/node#42237), so every step
 * re-enters the span's context; the reader keeps its own.
 */

import { context } from '@opentelemetry/api'
import { byHand, type Flow, finished } from '../flow/flow.ts'
import type { OpenSpan } from './spans.ts'

export interface Traced<Event, Result> {
  /** Called at the first step: a flow that nobody pulls opens no span. */
  open(): OpenSpan
  make(span: OpenSpan): Flow<Event, Result>
  /** Each event as it goes up. A throw here counts as the flow's own. */
  event?(event: Event): Event
  /** The flow is closed before its end. What it waits for is to be cancelled: else it can be closed only when that has come. */
  closing?(): void
  /** The flow returned: what it gives is the outcome. A throw here counts as the flow's own. */
  done(span: OpenSpan, result: Result): Result
  /** The flow threw: what this gives is thrown on. */
  failed(error: unknown): unknown
  /** The flow is out, closed by its reader included. Called once; whoever asked for the last step waits for it. */
  ended(span: OpenSpan, error?: unknown): void | Promise<void>
}

export function traced<Event, Result>(options: Traced<Event, Result>): Flow<Event, Result> {
  type Step = IteratorResult<Event, Result>
  let span: OpenSpan | undefined
  let flow: Flow<Event, Result> | undefined
  let out = false
  let over: void | Promise<void>

  const end = (error?: unknown) => {
    out = true
    if (span) over = options.ended(span, error)
    return over
  }

  const failed = async (thrown: unknown): Promise<never> => {
    if (out) {
      await over
      throw thrown
    }
    const error = options.failed(thrown)
    await end(error)
    throw error
  }

  const returned = async (result: IteratorReturnResult<Result>, closing: boolean): Promise<Step> => {
    if (out || !span) {
      await over
      return result
    }
    try {
      const value = closing ? result.value : options.done(span, result.value)
      await end()
      return { done: true, value }
    } catch (thrown) {
      return failed(thrown)
    }
  }

  const came = (result: Step): Step | Promise<Step> => {
    if (result.done) return returned(result, false)
    if (!options.event) return result
    try {
      return { done: false, value: options.event(result.value) }
    } catch (thrown) {
      return failed(thrown)
    }
  }

  const closed = (result: Step) => (result.done ? returned(result, true) : came(result))

  const within = (open: OpenSpan, advance: (flow: Flow<Event, Result>) => Promise<Step>) => {
    flow ??= options.make(open)
    return advance(flow)
  }

  // No async function: each event would wait for it.
  const step = (advance: (flow: Flow<Event, Result>) => Promise<Step>, then = came): Promise<Step> => {
    let open: OpenSpan
    try {
      open = span ??= options.open()
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
    next: () => (out ? finished() : step(next)),
    async return(value) {
      if (flow && !out) {
        options.closing?.()
        return step((inner) => inner.return(value), closed)
      }
      out = true
      await over
      return { done: true, value: await value }
    },
    async throw(error) {
      if (flow && !out) return step((inner) => inner.throw(error))
      out = true
      throw error
    },
  })
}

function next<Event, Result>(flow: Flow<Event, Result>): Promise<IteratorResult<Event, Result>> {
  return flow.next()
}
