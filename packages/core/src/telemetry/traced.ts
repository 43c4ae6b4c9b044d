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
  /** The flow returned: what it gives is the outcome. A throw here counts as the flow's own. */
  done(span: OpenSpan, result: Result): Result
  /** The flow threw: what this gives is thrown on. */
  failed(error: unknown): unknown
  /** The flow is out, closed by its reader included. Called once. */
  ended(span: OpenSpan, error?: unknown): void
}

export function traced<Event, Result>(options: Traced<Event, Result>): Flow<Event, Result> {
  type Step = IteratorResult<Event, Result>
  let span: OpenSpan | undefined
  let flow: Flow<Event, Result> | undefined
  let out = false

  const end = (error?: unknown) => {
    out = true
    if (span) options.ended(span, error)
  }

  const step = async (advance: (flow: Flow<Event, Result>) => Promise<Step>, closing = false): Promise<Step> => {
    const open = (span ??= options.open())
    try {
      const inner = (flow ??= context.with(open.context, () => options.make(open)))
      const result = await context.with(open.context, () => advance(inner))
      if (!result.done || out) return result
      const value = closing ? result.value : options.done(open, result.value)
      end()
      return { done: true, value }
    } catch (thrown) {
      if (out) throw thrown
      const error = options.failed(thrown)
      end(error)
      throw error
    }
  }

  return {
    next: () => (out ? finished() : step((inner) => inner.next())),
    async return(value) {
      if (flow && !out) return step(async (inner) => inner.return(await value), true)
      out = true
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
