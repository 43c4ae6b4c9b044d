/** The span of a hook or wrap, `middleware {name} {hook}`. */

import type { CallFacts } from './call-spans.ts'
import { classOf, failureOf } from './error.ts'
import { MIDDLEWARE, type SemanticAttributes } from './semconv.ts'
import { finish, type SpanTable } from './span-table.ts'
import type { Scope } from './spans.ts'

interface MiddlewareFacts {
  readonly name: string
  readonly hook: string
  /** 0 before the first step. */
  readonly step: number
}

interface MiddlewareCame {
  /** What it threw, if that counts as a failure. */
  readonly error?: unknown
  /** What it threw. */
  readonly thrown?: unknown
  /** For a `beforeFinalAnswer` that has returned. */
  readonly verdict?: 'accept' | 'reject' | undefined
  /** For a wrap: how often it called `next`. */
  readonly nextCalls?: number
  /** For a wrap: whether it returned its result without calling `next`. */
  readonly answered?: boolean
  /** For a `wrapToolCall`. */
  readonly call?: CallFacts | undefined
}

/** From its first step to its last. */
export function middlewareSpan({ name, hook, step }: MiddlewareFacts, scope: Scope): SpanTable<MiddlewareCame> {
  return {
    start: () => ({ name: `${MIDDLEWARE} ${name} ${hook}`, attributes: {} }),
    attributes: () =>
      ({
        'meanwhile.middleware.name': name,
        'meanwhile.middleware.hook': hook,
        'meanwhile.step.index': step || undefined,
      }) satisfies SemanticAttributes,
    end({ error, thrown, verdict, nextCalls, answered, call }, open) {
      if (!scope.lasting.delete(open)) return undefined
      const at = performance.now()
      const ending = (outcome?: string, reason?: string) => ({
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
      if (!answered || !call || call.settled) return ending(answered && !call ? 'completed' : undefined)
      // The outcome of the answer is known when the fate of its call is, unless nothing waits for the call any more.
      const ends = scope.answers.get(call) ?? []
      scope.answers.set(call, [...ends, (outcome, reason) => finish(open, scope, ending(outcome, reason))])
      return undefined
    },
  }
}
