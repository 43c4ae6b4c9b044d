/** Limits the time of a run, of each model call and of each tool call. */

import {
  type Flow,
  type Middleware,
  type ModelFlow,
  type ModelRequest,
  TimeoutError,
  ToolTimeoutError,
} from '@meanwhile/core'
import { checkTimes } from './check-options.ts'
import { IdleClock } from './idle-clock.ts'

/** Milliseconds; `Infinity` is no limit. */
export interface TimeoutOptions {
  /** The whole run, from its first step. Default none. */
  readonly run?: number
  /** A model call, from its request. Default 300,000. */
  readonly model?: number
  /** The silence between two model events. Default 60,000. */
  readonly idle?: number
  /** A tool call, its wait for a slot included. Default none. */
  readonly tool?: number
}

/**
 * A model call over its limit is aborted and fails with a retryable `TimeoutError`; a tool call is aborted and gets an error result;
 * the run ends with a `TimeoutError` (N11). A limit holds for what stands inside this middleware: inside `retryModel` or `retryTool`
 * each try, outside of them all tries with their waits (O17).
 *
 * Silence is what lies between two model events of one attempt: empty deltas do not end it, and the time in which nobody asks for
 * the next event is not counted (N10). Until the first event only `model` counts: a model may think in silence.
 */
export function timeout(options: TimeoutOptions = {}): Middleware {
  const { run, model = 300_000, idle = 60_000, tool } = options
  checkTimes({ run, model, idle, tool })
  // What is not limited is not wrapped: an event that passes through a wrap for nothing costs time.
  return {
    name: 'timeout',
    ignoresInput: true,
    ...(isLimit(run) && {
      wrapAgent: (setup, next) => limited(next(setup), run, () => new TimeoutError('run', run)),
    }),
    ...((isLimit(model) || isLimit(idle)) && {
      wrapModel: (request, next) => limitedModel(request, next, model, idle),
    }),
    ...(isLimit(tool) && {
      wrapToolCall: (call, next) => limited(next(call), tool, () => new ToolTimeoutError(call.name, tool)),
    }),
  }
}

function isLimit(ms: number | undefined): ms is number {
  return ms !== undefined && ms !== Number.POSITIVE_INFINITY
}

/** A model that heeds the signal of its request ends when its time is over. */
async function* limitedModel(
  request: ModelRequest,
  next: (request: ModelRequest) => ModelFlow,
  model: number,
  idle: number,
): ModelFlow {
  const controller = new AbortController()
  const abort = (limit: 'model' | 'idle', ms: number) => controller.abort(new TimeoutError(limit, ms))
  const timer = isLimit(model) ? setTimeout(abort, model, 'model', model) : undefined
  const flow = next({ ...request, signal: AbortSignal.any([request.signal, controller.signal]) })
  const clock = new IdleClock(idle, () => abort('idle', idle))
  try {
    if (!isLimit(idle)) return yield* flow
    for (;;) {
      clock.waits()
      const step = await flow.next()
      if (step.done) return step.value
      clock.came(step.value)
      yield step.value
    }
  } finally {
    clearTimeout(timer)
    clock.stop()
  }
}

/** The same flow, which ends with an error when its time is over. What it leaves behind then is closed by the onion (C15). */
async function* limited<Event, Result>(flow: Flow<Event, Result>, ms: number, late: () => Error): Flow<Event, Result> {
  let error: Error | undefined
  let fail = (_: Error): void => undefined
  const timer = setTimeout(() => {
    error = late()
    fail(error)
  }, ms)
  try {
    for (;;) {
      const step = await new Promise<IteratorResult<Event, Result>>((resolve, reject) => {
        fail = reject
        if (error) reject(error)
        else flow.next().then(resolve, reject)
      })
      if (step.done) return step.value
      yield step.value
    }
  } finally {
    clearTimeout(timer)
  }
}
