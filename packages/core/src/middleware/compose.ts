/**
 * The onion: how the wraps of a list of middlewares become one. Each layer has its own span and context, and what it hands on lasts for this
 * call only.
 */

import type { Context } from '@opentelemetry/api'
import { close, type Flow } from '../flow/flow.ts'
import { LazyController, wrapLeft } from '../flow/follow.ts'
import { within } from '../flow/grace.ts'
import { unheard } from '../flow/unheard.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { AgentError, MiddlewareError, messageOf } from '../vocabulary/errors.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import type { Run } from '../vocabulary/tool.ts'
import { type EventShapes, eventProblem } from './hook-problems.ts'
import { noting, type WrapThrows } from './wrap-throws.ts'

/** A flow-maker that is told the context it stands in. Closed before its end, the flow may ask `why`. */
export type Layer<Request, Event, Result> = (
  request: Request,
  parent: Context,
  why?: () => unknown,
) => Flow<Event, Result>

/** One of the three kinds of wraps. */
export interface WrapKind<Request, Event, Result> {
  readonly hook: 'wrapAgent' | 'wrapModel' | 'wrapToolCall'
  of(middleware: Middleware): Wrap<Request, Event, Result> | undefined
  /** What a wrap hands on in the place of what it was `given`. Throws what is wrong with it. */
  handed(request: Request, given: Request): Request
  /** The events that its wraps may yield. */
  readonly events: EventShapes
  /** Whether a wrap returned what it must. */
  isResult(value: unknown): boolean
  /** What else is wrong with a result, if anything is. */
  problem?(result: Result): string | undefined
  /** What it returned, with a finish reason that fits its message. */
  fitted?(result: Result): Result
  /** Whether a throw that is no `AgentError` is the middleware's own: a tool's passes through as it is. */
  readonly ownsThrows: boolean
  /** Of `wrapToolCall`: the call it goes round, and where what comes out of its wraps began. */
  readonly call?: CallEntry
  readonly throws?: WrapThrows
  /** Told of each event that a wrap lets up. */
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

/** All wraps of a kind round `core`; the first middleware is the outermost. */
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
    const made: Flow<Event, Result>[] = []
    /** The wrap's own: aborted when it is closed while at work. */
    const own = new LazyController()
    let out = false
    let answered = false
    let thrown: unknown
    let hasWarned = false
    /** What `next` has thrown. */
    const came = new Set<unknown>()
    /** The event that `next` gave last: what is wrong with it is not this wrap's fault. */
    let passed: unknown = came
    /** What ends its call: what ends a run has its own ways to stop what is at work. */
    const whyLeft = () => (thrown === undefined || thrown instanceof AgentError ? why() : thrown)
    const note = (event: Event) => {
      passed = event
    }
    /** What the wrap leaves behind is closed, innermost first; nothing more is made for it. */
    const leave = () => {
      out = true
      return Promise.allSettled(made.map(close))
    }
    return run.telemetry.aroundFlow<'middleware', Event, Result>('middleware', parent, {
      begin: () => ({ name, hook: kind.hook, step: run.steps.begun }),
      make: ({ context }) => {
        const next = (handed: Request) => {
          if (out) throw new MiddlewareError(name, kind.hook, 'next was called after the wrap had ended')
          const checked =
            handed === request
              ? request
              : given(name, kind.hook, () => kind.handed(handed, request), 'next cannot work with what it was given: ')
          const flow = inner(checked, context, whyLeft)
          made.push(flow)
          if (kind.throws) return noting(flow, came, note)
          return flow
        }
        const outside = kind.hook === 'wrapAgent'
        const warned = () => {
          hasWarned = true
        }
        const standing = call ? { call } : outside ? { outside } : { steps: run.steps.left }
        const actor = { context, source: name, hook: kind.hook, own, warned, ...standing }
        const view = run.work.view(run, actor)
        const flow = wrap(request, next, view)
        if (isFlow(flow)) return flow
        // What an async function throws later would be nobody's.
        unheard(flow)
        throw new MiddlewareError(name, kind.hook, `the wrap gave back no flow; make it \`async *${kind.hook}(…)\``)
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
        // Who has warned of it has named itself.
        if (!hasWarned) kind.throws?.threw(error, name, came)
        run.threw(error, place, call)
        return kind.ownsThrows ? blame(run, name, kind.hook, error) : error
      },
      // Once its call is abandoned, nobody waits for what the wrap has left.
      out: () =>
        within(
          run.config.grace,
          Promise.race([leave(), ...(call ? [call.abandoned.promise.catch(() => undefined)] : [])]),
        ),
      // What is thrown once it or its call was aborted answers the abort.
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

const NO_RESULT = 'the wrap returned no result; return what next(…) returned'

/** What a wrap in JavaScript gives back is anything: a promise, of one that is an async function. */
function isFlow(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'next' in value && 'return' in value
}

/** What a middleware gave, checked: what is wrong with it is its fault. */
export function given<Value>(middleware: string, hook: string, check: () => Value, what = ''): Value {
  try {
    return check()
  } catch (cause) {
    throw new MiddlewareError(middleware, hook, what + messageOf(cause), { cause })
  }
}

/** Core's own errors pass as they are, and so does what an abort brought about; anything else is the middleware's. */
export function blame(run: RunState, middleware: string, hook: string, thrown: unknown): unknown {
  if (thrown instanceof AgentError) return thrown
  if (run.signal.aborted) return run.signal.reason
  return new MiddlewareError(middleware, hook, `threw ${messageOf(thrown)}`, { cause: thrown })
}
