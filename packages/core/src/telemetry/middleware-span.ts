/** The span of a hook or wrap, `middleware {name} {hook}`. */

import { type Context, SpanKind } from '@opentelemetry/api'
import { set } from './attributes.ts'
import type { CallFacts } from './call-spans.ts'
import { failureOf } from './error-type.ts'
import { setError } from './exception.ts'
import { MIDDLEWARE } from './semconv.ts'
import { endSpan, type OpenSpan, type Scope, type StartedSpan, startSpan } from './spans.ts'

interface MiddlewareFacts {
  readonly name: string
  readonly hook: string
  /** 0 before the first. */
  readonly step: number
}

interface MiddlewareCame {
  /** What counts of what it threw. */
  readonly error?: unknown
  /** What it threw. */
  readonly thrown?: unknown
  /** Of a `beforeFinalAnswer` that has answered. */
  readonly verdict?: 'accept' | 'reject' | undefined
  /** Of a wrap: how often it called `next`. */
  readonly nextCalls?: number
  /** Of a wrap: whether it gave its result without calling `next`. */
  readonly answered?: boolean
  /** Of a `wrapToolCall`. */
  readonly call?: CallFacts | undefined
}

/** Its first step → its last. */
export function middlewareSpan(scope: Scope, parent: Context, facts: MiddlewareFacts): StartedSpan<MiddlewareCame> {
  const { name, hook, step } = facts
  const describe = () => ({ name: `${MIDDLEWARE} ${name} ${hook}`, kind: SpanKind.INTERNAL, attributes: {} })
  const open: StartedSpan<MiddlewareCame> = startSpan(scope, parent, describe, (came) =>
    endMiddlewareSpan(scope, open, came),
  )
  set(open.span, () => ({
    'meanwhile.middleware.name': name,
    'meanwhile.middleware.hook': hook,
    'meanwhile.step.index': step || undefined,
  }))
  scope.lasting.add(open)
  return open
}

function endMiddlewareSpan(scope: Scope, open: OpenSpan, came: MiddlewareCame): void {
  if (!scope.lasting.delete(open)) return
  const { error, thrown, verdict, nextCalls, answered, call } = came
  set(open.span, () => ({
    'meanwhile.middleware.verdict': verdict,
    'meanwhile.middleware.next_calls': nextCalls,
    'meanwhile.outcome': answered && !call ? 'completed' : undefined,
  }))
  if (failureOf(error)) setError(open, thrown, scope.capture())
  // What became of the answer is known when the fate of its call is, unless nobody waits for it any more.
  if (answered && call && !call.settled)
    scope.answers.set(call, [...(scope.answers.get(call) ?? []), [open, performance.now()]])
  else endSpan(open)
}
