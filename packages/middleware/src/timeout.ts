/** The middleware `timeout()`: limits the time of a run, of each model call and of each tool call. */

import {
  checkOptions,
  type Flow,
  type Middleware,
  type ModelFlow,
  type ModelRequest,
  map,
  type Run,
  runLocal,
  TimeoutError,
  type Tool,
  type ToolCall,
  ToolTimeoutError,
} from '@meanwhile/core'
import { branded } from '@meanwhile/core/calls'
import { checkTimes } from './check-options.ts'
import { IdleClock } from './idle-clock.ts'
import { schemaOf } from './schema-of.ts'

/** Time limits in milliseconds; `Infinity` means no limit. */
export interface TimeoutOptions {
  /** The limit of a whole run, with its `beforeAgent` hooks, without the time in which it is interrupted. Default: none. */
  readonly run?: number
  /** The limit of a model call, from its request. Default 300,000. */
  readonly model?: number
  /** The limit of the time between two model events. Default 60,000. */
  readonly idle?: number
  /**
   * The limit of a tool call, including its wait for a slot. For a `background` tool, the limit of its work, without
   * that wait: the shorter one of this limit and the tool's own `timeout`. Default: none.
   */
  readonly tool?: number
}

/**
 * A model call that exceeds its limit is aborted and fails with a retryable `TimeoutError`; a tool call is aborted and
 * gets an error result; a run ends with a `TimeoutError`. A limit applies to what is inside this middleware: inside
 * `retryModel` or `retryTool` to each attempt, outside of them to all attempts with their waits.
 *
 * Silence is the time between two model events of one attempt. Empty deltas do not end it, and time in which nobody
 * reads the next event does not count. Before the first event only `model` applies, because a model may think silently.
 */
export function timeout(options: TimeoutOptions = {}): Middleware {
  checkOptions('timeout', options, { run: '', model: '', idle: '', tool: '' })
  const { run, model = 300_000, idle = 60_000, tool } = options
  checkTimes({ run, model, idle, tool })
  /** Milliseconds that the run was active; the clock stops while it waits for an answer. */
  const used = runLocal({ key: 'timeout', schema: schemaOf(isTime), initial: 0 })
  /** When the run began in this process, and what stops the timer of its set-up. */
  const setUp = runLocal(() => ({ begin: performance.now(), stop: () => {} }))
  // What has no limit is not wrapped, because passing each event through a wrap costs time.
  return branded('middleware', {
    name: 'timeout',
    ignoresInput: true,
    ...(isLimit(run) && {
      onRun(view, fail) {
        const left = Math.max(0, run - used(view).value)
        const timer = setTimeout(() => fail(new TimeoutError('run', run)), left)
        const clock = setUp(view)
        clock.stop = () => clearTimeout(timer)
        return clock.stop
      },
      async *wrapAgent(setup, next, view) {
        const cell = used(view)
        const before = cell.value
        const clock = setUp(view)
        const { begin } = clock
        clock.stop()
        const note = () => {
          cell.value = before + performance.now() - begin
        }
        // Saved at each step, so a checkpoint is at most one step behind, however the process ends.
        const steps = map(next(setup), (event) => {
          if (event.type === 'step-start') note()
          return event
        })
        try {
          const left = Math.max(0, run - before - (performance.now() - begin))
          return yield* limited(steps, left, () => new TimeoutError('run', run))
        } finally {
          note()
          // An outer wrap may enter the steps again.
          clock.begin = performance.now()
        }
      },
    }),
    ...((isLimit(model) || isLimit(idle)) && {
      wrapModel: (request, next) => limitedModel(request, next, model, idle),
    }),
    ...(isLimit(tool) && {
      // The wraps of a background call have returned when its work begins.
      beforeAgent(setup) {
        const tools = setup.tools.map((one) => (one.background ? limitedTool(one, tool) : one))
        return tools.some((one, place) => one !== setup.tools[place]) ? { ...setup, tools } : undefined
      },
      wrapToolCall: (call, next, view) =>
        limited(next(call), tool, () => new ToolTimeoutError(call.name, tool, mayHaveStarted(call, view))),
    }),
  })
}

/** By limit: one object for each tool, because the calls of one object share its `concurrency` over all runs. */
const limitedTools = new WeakMap<Tool, Map<number, Tool>>()

function limitedTool(tool: Tool, ms: number): Tool {
  if ((tool.timeout ?? Number.POSITIVE_INFINITY) <= ms) return tool
  const byLimit = limitedTools.get(tool) ?? new Map<number, Tool>()
  limitedTools.set(tool, byLimit)
  const limited = byLimit.get(ms) ?? Object.freeze({ ...tool, timeout: ms })
  byLimit.set(ms, limited)
  return limited
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

function isLimit(ms: number | undefined): ms is number {
  return ms !== undefined && ms !== Number.POSITIVE_INFINITY
}

/** Whether the function of the call may have been called. If not, it waits for a slot, or in a wrap inside this one. */
function mayHaveStarted({ id }: ToolCall, run: Run): boolean {
  const status = run.toolStatus(id)
  return !status || status.startedAt !== undefined || status.startedBefore === true
}

/**
 * A model that reacts to its signal ends at the limit. If a wrap inside this one continues, it is closed one turn
 * later, so that the model's own reaction to the abort comes first.
 */
async function* limitedModel(
  request: ModelRequest,
  next: (request: ModelRequest) => ModelFlow,
  model: number,
  idle: number,
): ModelFlow {
  const controller = new AbortController()
  let late: ReturnType<typeof setTimeout> | undefined
  const abort = (limit: 'model' | 'idle', ms: number) => {
    const error = new TimeoutError(limit, ms)
    controller.abort(error)
    late ??= setTimeout(() => flow.fail(error))
  }
  const timer = isLimit(model) ? setTimeout(abort, model, 'model', model) : undefined
  const flow = failing(next({ ...request, signal: AbortSignal.any([request.signal, controller.signal]) }))
  const clock = isLimit(idle) ? new IdleClock(idle, () => abort('idle', idle)) : undefined
  try {
    for (;;) {
      clock?.waits()
      const step = await flow.next()
      if (step.done) return step.value
      clock?.came(step.value)
      yield step.value
    }
  } finally {
    clearTimeout(timer)
    clearTimeout(late)
    clock?.stop()
  }
}

/** Returns the same flow, which ends with an error when its time is over. */
async function* limited<Event, Result>(flow: Flow<Event, Result>, ms: number, late: () => Error): Flow<Event, Result> {
  const inner = failing(flow)
  const timer = setTimeout(() => inner.fail(late()), ms)
  try {
    for (;;) {
      const step = await inner.next()
      if (step.done) return step.value
      yield step.value
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Makes a flow that can be made to fail while a step is waiting. Core closes the abandoned flow. */
function failing<Event, Result>(flow: Flow<Event, Result>) {
  let failure: Error | undefined
  let reject = (_: Error): void => undefined
  return {
    fail(error: Error): void {
      failure = error
      reject(error)
    },
    next: () =>
      new Promise<IteratorResult<Event, Result>>((resolve, rejected) => {
        reject = rejected
        if (failure) rejected(failure)
        else flow.next().then(resolve, rejected)
      }),
  }
}
