/** Composes the wraps of a list of middleware. Each layer has its own span and context, and its changes last for one call. */

import type { Context } from '@opentelemetry/api'
import { close, type Flow } from '../flow/flow.ts'
import { LazyController, wrapLeft } from '../flow/follow.ts'
import { within } from '../flow/grace.ts'
import { unheard } from '../flow/unheard.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { middlewareSpan } from '../telemetry/around.ts'
import { conflictOf } from '../vocabulary/copies.ts'
import { AgentError, MiddlewareError, messageOf } from '../vocabulary/errors.ts'
import { isRecord } from '../vocabulary/json.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import type { Run } from '../vocabulary/tool.ts'
import { type EventShapes, eventProblem } from './hook-problems.ts'
import { noting, type WrapThrows } from './wrap-throws.ts'

/** Makes a flow in a context. If the flow is closed before its end, `why` returns the reason. */
export type Layer<Request, Event, Result> = (
  request: Request,
  parent: Context,
  why?: () => unknown,
) => Flow<Event, Result>

/** One of the three kinds of wraps. */
export interface WrapKind<Request, Event, Result> {
  readonly hook: 'wrapAgent' | 'wrapModel' | 'wrapToolCall'
  of(middleware: Middleware): Wrap<Request, Event, Result> | undefined
  /** Returns the valid, frozen form of what a wrap passes to `next`; `given` is what the wrap received. Throws if it is invalid. */
  handed(request: Request, given: Request): Request
  /** The events that its wraps may yield. */
  readonly events: EventShapes
  /** Whether a wrap returned a valid result. */
  isResult(value: unknown): boolean
  /** Returns what else is wrong with a result, if anything. */
  problem?(result: Result): string | undefined
  /** Returns the result with a finish reason that fits its message. */
  fitted?(result: Result): Result
  /** For `wrapToolCall`: the call, and the record of which wrap an error came from. */
  readonly call?: CallEntry
  readonly throws?: WrapThrows
  /** Receives each event that a wrap passes on. */
  seen?(event: Event): void
}

type Wrap<Request, Event, Result> = (
  request: Request,
  next: (request: Request) => Flow<Event, Result>,
  run: Run,
) => Flow<Event, Result>

interface Typed {
  readonly type?: string | undefined
}

/** All wraps of a kind around `core`; the first middleware is the outermost. */
export function compose<Request, Event extends Typed, Result>(
  run: RunState,
  kind: WrapKind<Request, Event, Result>,
  core: Layer<Request, Event, Result>,
): Layer<Request, Event, Result> {
  return run.middleware.reduceRight((inner, middleware) => {
    const wrap = kind.of(middleware)
    return wrap ? layer(run, kind, middleware.name, wrap, inner) : inner
  }, core)
}

function layer<Request, Event extends Typed, Result>(
  run: RunState,
  kind: WrapKind<Request, Event, Result>,
  name: string,
  wrap: Wrap<Request, Event, Result>,
  inner: Layer<Request, Event, Result>,
): Layer<Request, Event, Result> {
  const place = { middleware: name, hook: kind.hook }
  return (request, parent, why = wrapLeft) => {
    const { call } = kind
    const part = run.telemetry.ownPart()
    const made: Flow<Event, Result>[] = []
    /** Aborts when this wrap is closed while it is running. */
    const own = new LazyController()
    let out = false
    let answered = false
    let thrown: unknown
    let hasWarned = false
    /** The errors that `next` has thrown. */
    const came = new Set<unknown>()
    /** The last event of `next`. If that event is invalid, this wrap is not to blame. */
    let passed: unknown = came
    /** Returns the reason for aborting its call. An error that ends the run stops running work in another way. */
    const whyLeft = () => (thrown === undefined || thrown instanceof AgentError ? why() : thrown)
    const note = (event: Event) => {
      passed = event
    }
    /** Closes the flows that the wrap left open, innermost first, and makes no new ones. */
    const leave = () => {
      out = true
      return Promise.allSettled(made.map(close))
    }
    return run.telemetry.aroundFlow(middlewareSpan, parent, {
      begin: () => ({ name, hook: kind.hook, step: run.steps.begun, part }),
      make: ({ context }) => {
        const next = (handed: Request) => {
          if (out) throw new MiddlewareError(name, kind.hook, 'next was called after the wrap had ended')
          const checked =
            handed === request
              ? request
              : given(name, kind.hook, () => kind.handed(handed, request), 'next received an invalid argument: ')
          const flow = inner(checked, context, whyLeft)
          made.push(flow)
          const noted = kind.throws ? noting(flow, came, note) : flow
          return part ? part.ofNext(noted, isOther(checked, request)) : noted
        }
        const outside = kind.hook === 'wrapAgent'
        const warned = () => {
          hasWarned = true
        }
        const standing = call ? { call } : outside ? { outside } : { steps: run.steps.left }
        const actor = { context, source: name, hook: kind.hook, own, warned, ...standing }
        const view = run.work.view(run, actor)
        const flow = wrap(request, next, view)
        if (isFlow(flow)) return part ? part.ofWrap(flow) : flow
        // A later rejection of an async function is ignored.
        unheard(flow)
        throw new MiddlewareError(name, kind.hook, `the wrap did not return a flow; make it \`async *${kind.hook}(…)\``)
      },
      event: (event) => {
        const problem = event === passed ? undefined : eventProblem(event, kind.events)
        if (problem !== undefined) throw new MiddlewareError(name, kind.hook, `the wrap yielded ${problem}`)
        kind.seen?.(event)
        return event.type === 'custom' ? { source: name, ...event } : event
      },
      closing() {
        void leave()
        own.abort(why())
      },
      done: (result) => {
        const problem = kind.isResult(result) ? kind.problem?.(result) : NO_RESULT
        if (problem !== undefined) throw new MiddlewareError(name, kind.hook, problem)
        run.answered(place, call)
        answered = made.length === 0
        return kind.fitted ? kind.fitted(result) : result
      },
      failed: (error) => {
        thrown = error
        // If the wrap has emitted a warning about the error, the reader already knows its name.
        if (!hasWarned) kind.throws?.threw(error, name, came)
        run.threw(error, place, call)
        // What the wraps of a call throw is the outcome of the call, and may be its tool's.
        return call ? error : blame(run, name, kind.hook, error)
      },
      // Once the call is abandoned, nothing waits for flows that the wrap left open.
      out: () =>
        within(
          run.config.grace,
          Promise.race([leave(), ...(call ? [call.abandoned.promise.catch(() => undefined)] : [])]),
        ),
      // An error after the abort of the wrap or its call results from the abort.
      came: ({ error }) => ({
        error: own.aborted || call?.signal.aborted ? undefined : error,
        thrown,
        nextCalls: made.length,
        answered,
        call,
      }),
    })
  }
}

/** Whether a wrap changed the request or call. Another signal, or another number of client retries, does not count as a change. */
function isOther(handed: unknown, given: unknown): boolean {
  if (handed === given || !isRecord(handed) || !isRecord(given)) return handed !== given
  return Object.keys({ ...given, ...handed }).some((name) => !LIMITS.has(name) && handed[name] !== given[name])
}

const LIMITS: ReadonlySet<string> = new Set(['signal', 'clientRetries'])

const NO_RESULT = 'the wrap returned no result; return what next(…) returned'

/** Whether the value is a flow. A wrap in JavaScript may return anything, for example the promise of an async function. */
function isFlow(value: unknown): boolean {
  return isRecord(value) && 'next' in value && 'return' in value
}

/** Runs `check` on a value from a middleware. If the value is invalid, the error names the middleware. */
export function given<Value>(middleware: string, hook: string, check: () => Value, what = ''): Value {
  try {
    return check()
  } catch (cause) {
    throw new MiddlewareError(middleware, hook, what + messageOf(cause), { cause })
  }
}

/** Returns the error to throw for an error of a middleware. Errors of core and of an abort stay unchanged; any other becomes a `MiddlewareError`. */
export function blame(run: RunState, middleware: string, hook: string, thrown: unknown): unknown {
  if (thrown instanceof AgentError) return thrown
  if (run.signal.aborted) return run.signal.reason
  return conflictOf(thrown) ?? new MiddlewareError(middleware, hook, `threw ${messageOf(thrown)}`, { cause: thrown })
}
