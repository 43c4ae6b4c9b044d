/**
 * A flow inside a span. A generator runs in the context of whoever asks for its next value (nodejs/node#42237), so every step
 * re-enters the span's context; the reader keeps its own.
 */

import { context } from '@opentelemetry/api'
import type { Flow } from '../flow.ts'
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

  const step = async (advance: (flow: Flow<Event, Result>) => Promise<Step>, closing = false): Promise<Step> => {
    const open = (span ??= options.open())
    try {
      const inner = (flow ??= context.with(open.context, () => options.make(open)))
      const result = await context.with(open.context, () => advance(inner))
      if (!result.done) return options.event ? { done: false, value: options.event(result.value) } : result
      if (out) {
        await over
        return result
      }
      const value = closing ? result.value : options.done(open, result.value)
      await end()
      return { done: true, value }
    } catch (thrown) {
      if (out) {
        await over
        throw thrown
      }
      const error = options.failed(thrown)
      await end(error)
      throw error
    }
  }

  return {
    next: () => (out ? finished() : step((inner) => inner.next())),
    async return(value) {
      if (!out) options.closing?.()
      if (flow && !out) return step(async (inner) => inner.return(await value), true)
      out = true
      await over
      return { done: true, value: await value }
    },
    async throw(error) {
      if (flow && !out) return step((inner) => inner.throw(error))
      out = true
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
    async [Symbol.asyncDispose]() {
      await this.return(undefined as never)
    },
  }
}

/** What a generator that has returned answers. */
async function finished(): Promise<IteratorReturnResult<never>> {
  return { done: true, value: undefined as never }
}
