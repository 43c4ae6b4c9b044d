/** The span of a hook or wrap, `middleware {name} {hook}`. */

import { byHand, type Flow } from '../flow/flow.ts'
import type { CallFacts } from './call-spans.ts'
import { classOf, failureOf } from './error.ts'
import { MIDDLEWARE, type SemanticAttributes } from './semconv.ts'
import { finish, type SpanTable } from './span-table.ts'
import { type OpenSpan, type Scope, setAttributes, startSpan } from './spans.ts'

interface MiddlewareFacts {
  readonly name: string
  readonly hook: string
  /** 0 before the first step. */
  readonly step: number
  /** For a wrap that has a span only if it does something by itself. */
  readonly part?: OwnPart | undefined
}

interface MiddlewareCame {
  /** What it threw, if that counts as a failure. */
  readonly error?: unknown
  /** What it threw. */
  readonly thrown?: unknown
  /** For a hook: whether it returned something other than it received. */
  readonly changed?: boolean
  /** For a `beforeFinalAnswer` that has returned. */
  readonly verdict?: 'accept' | 'reject' | undefined
  /** For a wrap: how often it called `next`. */
  readonly nextCalls?: number
  /** For a wrap: whether it returned its result without calling `next`. */
  readonly answered?: boolean
  /** For a `wrapToolCall`. */
  readonly call?: CallFacts | undefined
}

/** One or two turns of the event loop take less. */
const LONGEST_MS = 1

/** From its first step to its last. If not every hook and wrap has a span, the decision is made when it is over. */
export function middlewareSpan(facts: MiddlewareFacts, scope: Scope): SpanTable<MiddlewareCame> {
  const { name, hook, step } = facts
  const start = () => ({ name: `${MIDDLEWARE} ${name} ${hook}`, attributes: {} })
  const attributes = () =>
    ({
      'meanwhile.middleware.name': name,
      'meanwhile.middleware.hook': hook,
      'meanwhile.step.index': step || undefined,
    }) satisfies SemanticAttributes
  return {
    start: scope.middleware === 'all' ? start : undefined,
    begun: (open) => void scope.lasting.add(open),
    attributes,
    end(came, begun) {
      if (!scope.lasting.delete(begun)) return undefined
      const at = performance.now()
      let open: OpenSpan = begun
      if (scope.middleware === 'changed' && hasDone(facts, came, at - begun.started)) {
        open = startSpan(scope, begun.context, start, begun.started)
        setAttributes(open.span, attributes)
      }
      const { error, thrown, verdict, nextCalls, answered, call } = came
      const end = (outcome?: string, reason?: string) =>
        finish(open, scope, {
          attributes: () =>
            ({
              'meanwhile.middleware.verdict': verdict,
              'meanwhile.middleware.next_calls': nextCalls,
              'meanwhile.outcome': outcome,
              'meanwhile.discard.reason': reason,
            }) satisfies SemanticAttributes,
          failure: failureOf(error) && classOf(thrown),
          error: thrown,
          at,
        })
      // The outcome of the answer is known when the fate of its call is, unless nothing waits for the call any more.
      if (answered && call && !call.settled) scope.answers.set(call, [...(scope.answers.get(call) ?? []), end])
      else end(answered && !call ? 'completed' : undefined)
      return undefined
    },
  }
}

/** Whether it did something by itself. `lasted`: in milliseconds. */
function hasDone({ part }: MiddlewareFacts, came: MiddlewareCame, lasted: number): boolean {
  const { changed = part?.changed, answered, nextCalls = 0, thrown } = came
  const hasThrown = thrown !== undefined && !part?.got(thrown)
  return changed || answered || nextCalls > 1 || hasThrown || (part?.waited ?? lasted) > LONGEST_MS
}

/** Tracks what a wrap does by itself, apart from what its `next` does. Used only where that decides whether the wrap has a span. */
export class OwnPart {
  #changed = false
  /** What `next` has returned or thrown. */
  readonly #came = new Set<unknown>()
  /** The last event of `next`, until the wrap passes it on. */
  #event: unknown
  /** How many steps are running. */
  readonly #steps = { wrap: 0, next: 0 }
  /** When that last changed, in `performance.now()`. */
  #since = 0
  #longest = 0

  /** Whether it passed on something other than it received. */
  get changed(): boolean {
    return this.#changed
  }

  /** The longest wait in milliseconds while its `next` was not running. */
  get waited(): number {
    this.#tick()
    return this.#longest
  }

  /** Whether it received this error from its `next`. */
  got(thrown: unknown): boolean {
    return this.#came.has(thrown)
  }

  /** Wraps the flow of `next`. `changed`: the wrap passed on something other than it received. */
  ofNext<Event, Result>(flow: Flow<Event, Result>, changed: boolean): Flow<Event, Result> {
    this.#changed ||= changed
    return this.#watched('next', flow, ({ done, value }) => {
      if (done) this.#came.add(value)
      else {
        this.#changed ||= this.#event !== undefined
        this.#event = value
      }
    })
  }

  /** Wraps the flow of the wrap. */
  ofWrap<Event, Result>(flow: Flow<Event, Result>): Flow<Event, Result> {
    return this.#watched('wrap', flow, ({ done, value }) => {
      this.#changed ||= done ? this.#event !== undefined || !this.#came.has(value) : this.#event !== value
      this.#event = undefined
    })
  }

  /** `seen` is called with each step, until the flow is closed, before the reader of the step continues. It does not delay the reader. */
  #watched<Event, Result>(
    side: 'wrap' | 'next',
    flow: Flow<Event, Result>,
    seen: (step: IteratorResult<Event, Result>) => void,
  ): Flow<Event, Result> {
    const over = () => {
      this.#tick()
      this.#steps[side]--
    }
    const step = (advance: () => Promise<IteratorResult<Event, Result>>, told = seen) => {
      this.#tick()
      this.#steps[side]++
      const promise = advance()
      Promise.resolve(promise)
        .then(
          (result) => {
            over()
            told(result)
          },
          (error) => {
            over()
            if (side === 'next') this.#came.add(error)
          },
        )
        .catch(nobody)
      return promise
    }
    return byHand({
      next: () => step(() => flow.next()),
      return: (value) => step(() => flow.return(value), nobody),
      throw: (error) => step(() => flow.throw(error)),
    })
  }

  /** Called before a step begins or ends. */
  #tick(): void {
    const now = performance.now()
    if (this.#steps.wrap > 0 && this.#steps.next === 0) this.#longest = Math.max(this.#longest, now - this.#since)
    this.#since = now
  }
}

function nobody(): void {}
