/** Before… and after… hooks: data in, changed data out. Each has its own span. */

import { context } from '@opentelemetry/api'
import { blame } from './compose.ts'
import { MiddlewareError } from './errors.ts'
import { verdictProblem } from './hook-problems.ts'
import type { AgentSetup, AgentState, Awaitable, Middleware, Run, Verdict } from './middleware.ts'
import type { RunState } from './run.ts'
import { viewOf } from './run-view.ts'
import { MIDDLEWARE_VERDICT } from './telemetry/semconv.ts'
import { setError, startMiddlewareSpan } from './telemetry/spans.ts'

type ChainHook<Data> = Data extends AgentSetup ? 'beforeAgent' : 'beforeModel' | 'afterModel'

/**
 * The data as all hooks of a name leave it: before… first to last, after… last to first. A hook that gives back nothing leaves
 * it. `problem` says what is wrong with what a hook gave back, if anything is.
 */
export async function runHooks<Data extends AgentSetup | AgentState>(
  run: RunState,
  hook: ChainHook<Data>,
  data: Data,
  problem?: Problem<Data>,
): Promise<Data> {
  const middleware = hook === 'afterModel' ? run.middleware.toReversed() : run.middleware
  let state = data
  for (const one of middleware) {
    const call = one[hook]?.bind(one) as HookFunction<Data, Data | void> | undefined
    const changed = await runHook(run, one.name, hook, call, state, problem)
    if (changed) state = changed
  }
  return state
}

/** Asks one middleware about an answer. */
export function askHook(run: RunState, middleware: Middleware, state: AgentState): Promise<Verdict | void> {
  const call: HookFunction<AgentState, Verdict | void> | undefined = middleware.beforeFinalAnswer?.bind(middleware)
  return runHook(run, middleware.name, 'beforeFinalAnswer', call, state, verdictProblem)
}

type HookFunction<Data, Result> = (data: Data, run: Run) => Awaitable<Result>

/** Says what is wrong with what a hook gave back. */
type Problem<Result> = (result: NonNullable<Result>) => string | undefined

async function runHook<Data, Result>(
  run: RunState,
  name: string,
  hook: string,
  call: HookFunction<Data, Result> | undefined,
  data: Data,
  problem?: Problem<Exclude<Result, void>>,
): Promise<Result | undefined> {
  if (!call) return undefined
  run.signal.throwIfAborted()
  const open = startMiddlewareSpan(run.tracer, run.context, name, hook, run.step)
  const view = viewOf(run, { context: open.context, source: name })
  try {
    const result = await context.with(open.context, () => call(data, view))
    run.signal.throwIfAborted()
    const wrong = result && problem?.(result as NonNullable<Exclude<Result, void>>)
    if (wrong) throw new MiddlewareError(name, hook, wrong)
    if (hook === 'beforeFinalAnswer') open.span.setAttribute(MIDDLEWARE_VERDICT, rejects(result) ? 'reject' : 'accept')
    return result
  } catch (thrown) {
    const error = blame(run, name, hook, thrown)
    setError(open.span, error)
    throw error
  } finally {
    open.span.end()
  }
}

function rejects(verdict: unknown): boolean {
  return typeof verdict === 'object' && verdict !== null && 'accept' in verdict && verdict.accept === false
}
