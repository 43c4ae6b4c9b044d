/** Ends a run: with a result, with a checkpoint for a resume, or with an error that has the history until then. */

import { abortAll, handOver, workIdle } from '../background/background.ts'
import { checkpointOf, questionsOf } from '../checkpoint/take.ts'
import { within } from '../flow/grace.ts'
import { unheard } from '../flow/unheard.ts'
import { ownWorks } from '../machine/background.ts'
import type { CallState } from '../machine/call.ts'
import { inboxClosed, stepEnded } from '../machine/steps.ts'
import { restoreCalls } from '../resume/go-on.ts'
import type { RunState } from '../state/run.ts'
import { answersTo, outcomesOf, settledOf, unreadResults } from '../tool-call/history-results.ts'
import { AgentError, HistoryError, type RunStop } from '../vocabulary/errors.ts'
import { freezePlain } from '../vocabulary/frozen.ts'
import { freeze, openCalls } from '../vocabulary/history.ts'
import type { Message } from '../vocabulary/message.ts'
import type { CancelledResult, CompletedResult, InterruptedResult, ResultBase } from '../vocabulary/result.ts'
import type { Checkpoint } from '../vocabulary/saved-run.ts'

/** Returns the result for the caller: the outcome of the outermost wrap, plus what is known when nothing runs any more. */
export async function completed(run: RunState, outcome: CompletedResult): Promise<CompletedResult> {
  run.inbox.end()
  const background = handOver(run)
  // Ends side calls that nothing awaits.
  await quiet(run, () => new TypeError('the run has ended'))
  run.signal.throwIfAborted()
  stepEnded(run.steps.state)
  end(run)
  const handed = background.length > 0 && { background }
  const { usage, events } = run
  const result = freezePlain({ ...outcome, usage, warnings: [...events.warnings], ...handed, ...lost(run) })
  const { messages, usage: _, warnings: __, steps: ___, background: ____, ...own } = result
  const notSaved = await saved(run, () => checkpointOf(run, 'completed', { messages, result: own }))
  return Object.freeze({ ...result, ...notSaved })
}

/** Ends a run that was interrupted or cancelled: running work ends, nothing new starts, and a resume continues from there. */
export async function stopped(run: RunState, reason: RunStop): Promise<InterruptedResult | CancelledResult> {
  const { halt, calls, config, history, steps } = run
  if (!run.signal.aborted) {
    halt.post({ is: 'pause' }, reason)
    run.showQuestions(questionsOf(run))
    // While a response streams, the run waits for its early calls only for the grace time: the response of the resume decides about them.
    const isStreaming = steps.state.current?.phase === 'model' && !halt.state.mode
    if (isStreaming)
      await Promise.allSettled(calls.entries().flatMap(({ state, promise }) => (isSure(state) ? [promise] : [])))
    const idle = halt.state.mode || isStreaming ? within(config.grace, calls.idle()) : calls.idle()
    await (halt.state.mode ? idle : Promise.all([idle, workIdle(run)]))
  }
  inboxClosed(run.steps.state)
  calls.events.warnOfResults()
  const checkpoint = run.takeLast()
  const { interrupts, status } = checkpoint
  run.showQuestions(interrupts)
  const { mode, escalated } = halt.state
  const cancelled = status === 'cancelled' ? mode : undefined
  await quiet(run, () => (cancelled ? halt.error : reason))
  if (halt.failure) return failed(run, halt.failure)
  run.events.showRest()
  const messages = cancelled ? [...history.messages, ...showClosing(run, soFar(run))] : history.messages
  end(run)
  const notSaved = await saved(run, () => checkpoint)
  const rest = {
    text: '',
    messages,
    steps: run.steps.begun,
    usage: run.usage,
    warnings: [...run.events.warnings],
    checkpoint: freeze({ ...checkpoint, revision: run.saver.revision }),
    ...notSaved,
    ...lost(run),
  }
  if (!cancelled) {
    const settled = settledOf(run, openCalls(messages))
    return freezePlain({ status: 'interrupted', interrupts, settled, ...rest })
  }
  const asked = interrupts.length > 0 && { interrupts }
  return freezePlain({
    status: 'cancelled',
    cancelled: { at: cancelled, ...(escalated && { escalated }) },
    ...asked,
    ...rest,
  })
}

/** Whether a running call counts, whatever the response will request: a hook or wrap has made it. */
function isSure({ fate, course }: CallState): boolean {
  return fate === 'committed' && course === 'begun'
}

/** Returns the last messages of a cancelled run: the partial response, and a result for each call and for background work. */
function soFar(run: RunState): readonly Message[] {
  const { state, partial } = run.steps
  const said = state.current?.phase === 'model' && partial ? [freeze(partial)] : []
  return [...said, ...outcomesOf(run, openCalls([...run.history.messages, ...said])), ...unreadResults(run)]
}

/** Shows the reader messages that are only in the result and not in a checkpoint. */
function showClosing(run: RunState, messages: readonly Message[]): readonly Message[] {
  for (const message of messages) run.events.push({ type: 'message', message: freeze(message) }, true)
  return messages
}

/** Adds the history, usage and abandoned calls to an error. Every call then has a result, unless the history itself is wrong. */
export async function failed(run: RunState, error: unknown): Promise<never> {
  inboxClosed(run.steps.state)
  await quiet(run, () => error)
  void unheard(run.saver.flush())
  if (run.isOutermost && run.saver.isOn) {
    const isFinal = error instanceof AgentError && error.final && run.halt.state.phase !== 'loading'
    const failure = isFinal ? (error.toJSON() as Checkpoint['failure']) : undefined
    if (failure) void unheard((async () => run.saver.put(checkpointOf(run, 'running', { failure })))())
    const idle = run.saver.idle()
    await (run.signal.aborted ? run.halt.until(idle).catch(() => undefined) : within(run.config.grace, idle))
  }
  if (error instanceof AgentError) {
    const { messages } = run.history
    const open = error instanceof HistoryError ? [] : openCalls(messages)
    run.events.showRest()
    const closing = showClosing(run, [...answersTo(run, open), ...unreadResults(run), ...run.inbox.messages])
    const { abandoned } = run.calls
    const left = abandoned.length > 0 && { abandoned: [...abandoned] }
    error.endRun(freezePlain({ messages: [...messages, ...closing], usage: run.usage, ...left }))
  }
  end(run)
  throw error
}

/** Ends everything that is still running. Then the outcome of every call is known, including calls of a checkpoint that were not restored yet. */
async function quiet(run: RunState, reasonOf: () => unknown): Promise<void> {
  run.halt.post({ is: 'ending' })
  const { calls, sideCalls } = run
  // Usually nothing is running, and creating an error costs a stack trace.
  if (calls.isOpen || ownWorks(calls.state).length > 0) abortAll(run, reasonOf())
  sideCalls.abort(reasonOf)
  await Promise.all([calls.idle(), workIdle(run), sideCalls.idle(run.config.grace)])
  if (run.unclaimed) restoreCalls(run, run.unclaimed.calls)
  run.unclaimed = undefined
}

/** Emits the last events of the run. */
export function end(run: RunState): void {
  run.events.showRest()
  // Calls that stayed open have spans, too.
  for (const entry of run.calls.entries()) run.telemetry.ended(entry)
  run.telemetry.over()
  run.close()
}

function lost({ calls: { abandoned }, unknown }: RunState): Pick<ResultBase, 'abandoned' | 'unknown'> {
  return {
    ...(abandoned.length > 0 && { abandoned: [...abandoned] }),
    ...(unknown.length > 0 && { unknown: [...new Set(unknown)] }),
  }
}

/** Saves the last checkpoint. If that fails, the result contains it and the error. An abort ends the wait for a store that hangs. */
async function saved(run: RunState, checkpoint: () => Checkpoint): Promise<Pick<ResultBase, 'checkpointError'>> {
  if (!run.saver.isOn && run.isOutermost) return {}
  try {
    run.checkpoint = checkpoint()
    if (run.isOutermost) await run.halt.until(run.saver.put(run.checkpoint))
    return {}
  } catch (error) {
    const { failure } = run.halt
    if (failure) {
      // The save failed, so the run has not ended after all.
      run.halt.post({ is: 'running' })
      return await failed(run, failure)
    }
    if (error instanceof AgentError) return { checkpointError: error }
    throw error
  }
}
