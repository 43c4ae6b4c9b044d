/** The span of a hook or wrap, `middleware {name} {hook}`. */

import type { CallFacts } from './call-spans.ts'
import { classOf, failureOf } from './error.ts'
import type { OwnPart } from './own-part.ts'
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
