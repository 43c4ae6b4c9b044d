/** Calls the `before…` and `after…` hooks. Each receives data, returns changed data, and has its own span. */

import type { Awaitable } from '../flow/flow.ts'
import { unheard } from '../flow/unheard.ts'
import { dueHook, hookDone } from '../machine/steps.ts'
import { blame, given } from '../middleware/compose.ts'
import { verdictProblem } from '../middleware/hook-problems.ts'
import type { RunState } from '../state/run.ts'
import { middlewareSpan } from '../telemetry/around.ts'
import { boundedAnswer } from '../vocabulary/call-limits.ts'
import { type AgentError, MiddlewareError } from '../vocabulary/errors.ts'
import { isRecord } from '../vocabulary/json.ts'
import type { Message } from '../vocabulary/message.ts'
import { withFittingReason } from '../vocabulary/message-shape.ts'
import type { AgentState, Middleware, Verdict } from '../vocabulary/middleware.ts'
import type { AgentSetup, Run } from '../vocabulary/tool.ts'
import { viewOf } from './run-view.ts'
import { checkedSetup } from './set-up.ts'

/**
 * Calls every `onRun`, and adds to `ends` what each returns, to be called when the run is over.
 *
 * @throws {MiddlewareError} An `onRun` threw, or returned something other than a function.
 */
export function beginRun(run: RunState, ends: (() => void)[]): void {
  const fail = (error: AgentError) => run.halt.fail(error)
  for (const one of run.middleware) {
    const view = viewOf(run, { context: run.context, source: one.name })
    const end: unknown = given(one.name, 'onRun', () => unheard(one.onRun?.(view, fail)))
    if (end !== undefined && typeof end !== 'function')
      throw new MiddlewareError(one.name, 'onRun', 'returned something other than a function')
    if (end) ends.push(() => void end())
  }
}

/** Calls each of these functions. What one throws is dropped: the run has its end, and must neither lose it nor the other ends. */
export function endRun(ends: readonly (() => void)[]): void {
  for (const end of ends) {
    try {
      end()
    } catch {
      // There is no result, event or warning any more that could contain it.
    }
  }
}

/** The set-up after every `beforeAgent`. A hook that returns nothing changes nothing. */
export async function runSetupHooks(run: RunState): Promise<AgentSetup> {
  let { setup } = run.config
  for (const middleware of run.middleware) {
    const call = middleware.beforeAgent?.bind(middleware)
    const check = (changed: AgentSetup) => (changed === setup ? setup : checkedSetup(run, changed))
    const changed = call && (await runHook(run, middleware.name, 'beforeAgent', call, setup, check))
    if (changed) setup = changed
  }
  return setup
}

/**
 * Runs all hooks with this name, which change the history: before… first to last, after… last to first. Each finished hook and its change
 * are recorded. `problem` returns what is wrong with the state that a hook returned.
 */
export async function runStateHooks(
  run: RunState,
  hook: 'beforeModel' | 'afterModel',
  problem: (state: AgentState) => string | undefined,
): Promise<void> {
  const { state } = run.steps
  for (let middleware = dueHook(state, run.middleware); middleware; middleware = dueHook(state, run.middleware)) {
    const call = middleware[hook]?.bind(middleware)
    const { messages } = run.history
    const check = (state: AgentState) => {
      refuse(problem(state))
      return fitted(run, state, messages)
    }
    const changed = call && (await runHook(run, middleware.name, hook, call, Object.freeze({ messages }), check))
    if (changed) run.history.replace(changed)
    hookDone(state, middleware.name)
  }
}

/** Applies the limits to messages that a hook added or changed, also if it removed or added calls. Older messages stay unchanged. */
function fitted({ config }: RunState, state: AgentState, before: readonly Message[]): AgentState {
  if (state.messages === before) return state
  const known = new Set(before)
  const fit = (message: Message) =>
    message.role === 'assistant' && !known.has(message)
      ? withFittingReason(boundedAnswer(message, config.inputLimits))
      : message
  return { messages: state.messages.map(fit) }
}

/** Calls the `beforeFinalAnswer` hook of one middleware. */
export function askHook(run: RunState, middleware: Middleware, state: AgentState): Promise<Verdict | void> {
  const call = middleware.beforeFinalAnswer?.bind(middleware)
  const check = (verdict: Verdict) => {
    refuse(verdictProblem(verdict))
    return verdict
  }
  return call ? runHook(run, middleware.name, 'beforeFinalAnswer', call, state, check) : NOTHING
}

const NOTHING = Promise.resolve()

function refuse(problem: string | undefined): void {
  if (problem) throw new TypeError(problem)
}

/** Runs one hook in its span. `check` returns the valid part of what the hook returned, or throws if it is wrong. */
function runHook<Data, Result>(
  run: RunState,
  name: string,
  hook: string,
  call: (data: Data, run: Run) => Awaitable<Result | void>,
  data: Data,
  check: (result: Result) => Result,
): Promise<Result | void> {
  run.signal.throwIfAborted()
  const place = { middleware: name, hook }
  return run.telemetry.around(middlewareSpan, run.context, {
    begin: () => ({ name, hook, step: run.steps.begun }),
    make: ({ context }) => call(data, viewOf(run, { context, source: name, hook, steps: run.steps.left })),
    done: (gave) => {
      run.signal.throwIfAborted()
      // Not for `beforeAgent`, because each resume calls it again and it needs the same answers.
      if (hook !== 'beforeAgent') run.answered(place)
      return gave && given(name, hook, () => check(gave))
    },
    failed: (thrown) => {
      run.threw(thrown, place)
      return blame(run, name, hook, thrown)
    },
    came: ({ error, thrown, returned }) => ({
      error,
      thrown,
      changed: returned !== undefined && changes(returned.result, data),
      verdict: returned && hook === 'beforeFinalAnswer' ? verdictOf(returned.result) : undefined,
    }),
  })
}

/** Whether a hook returned something different from what it received. Accepting an answer unchanged is not a change. */
function changes(gave: unknown, data: unknown): boolean {
  if (gave === undefined || gave === data) return false
  return !(isRecord(gave) && gave.accept === true && gave.message === undefined)
}

function verdictOf(gave: unknown): 'accept' | 'reject' {
  return isRecord(gave) && gave.accept === false ? 'reject' : 'accept'
}
