/** What a run comes to: a result, a checkpoint to go on from, or an error that says how far it was. */

import type { Checkpoint } from './checkpoint.ts'
import { AgentError, HistoryError, RunStop } from './errors.ts'
import type { AgentResult } from './events.ts'
import { within } from './grace.ts'
import { openCalls } from './history.ts'
import type { RunState } from './run.ts'
import { checkpointOf, snapshot } from './snapshot.ts'

/** What the caller gets: the outcome of the outermost wrap, and what is known when nothing is at work any more. */
export async function completed(run: RunState, outcome: AgentResult): Promise<AgentResult> {
  // What was called on the side and nobody waits for.
  await quiet(run, new TypeError('the run is over'))
  run.signal.throwIfAborted()
  run.current = undefined
  end(run)
  const result = { ...outcome, warnings: [...run.warnings], ...lost(run) }
  const { messages, usage, warnings, steps, ...own } = result
  const notSaved = await saved(run, () => ({ ...snapshot(run, 'completed'), messages, result: own }))
  return Object.freeze({ ...result, ...notSaved })
}

/** The result that the checkpoint of a completed run holds (L19). */
export function resultIn({ result, messages, usage, warnings, steps }: Checkpoint): AgentResult | undefined {
  return result && Object.freeze({ ...result, messages, usage, warnings, steps })
}

/** The run was interrupted or cancelled: what is at work comes to its end, nothing new starts, and a resume goes on from there. */
export async function stopped(run: RunState, reason: RunStop): Promise<AgentResult> {
  const { cancel, calls, config } = run
  if (!run.signal.aborted) {
    cancel.halt(reason)
    await within(cancel.mode ? config.grace : Number.POSITIVE_INFINITY, calls.idle())
  }
  run.closing = true
  run.checkpoint ??= checkpointOf(run, cancel.mode ? 'cancelled' : 'interrupted')
  cancel.over()
  const { checkpoint } = run
  const { interrupts } = checkpoint
  const cancelled = checkpoint.status === 'cancelled' ? cancel.mode : undefined
  const escalated = cancel.escalated && { escalated: true as const }
  await quiet(run, reason)
  if (run.ended && !(run.ended instanceof RunStop)) return failed(run, run.ended)
  const messages = cancelled ? [...run.messages, ...calls.outcomes(openCalls(run.messages))] : run.messages
  end(run)
  const notSaved = await saved(run, () => checkpoint)
  return Object.freeze({
    status: cancelled ? 'cancelled' : 'interrupted',
    text: '',
    messages,
    steps: run.step,
    usage: run.usage,
    warnings: [...run.warnings],
    ...(interrupts.length > 0 && { interrupts }),
    ...(cancelled && { cancelled: { at: cancelled, ...escalated } }),
    checkpoint: Object.freeze({ ...checkpoint, revision: run.saver.revision }),
    ...notSaved,
    ...lost(run),
  })
}

/** What a caller needs to go on after an error (A24): every call answered, unless it is the history itself that is wrong. */
export async function failed(run: RunState, error: unknown): Promise<never> {
  run.closing = true
  await quiet(run, error)
  if (run.isOutermost && run.saver.isOn) await within(run.config.grace, run.saver.idle())
  if (error instanceof AgentError) {
    const open = error instanceof HistoryError ? [] : openCalls(run.messages)
    const messages = [...run.messages, ...run.calls.answers(open)]
    const { abandoned } = run.calls
    error.endRun({ messages, usage: run.usage, ...(abandoned.length > 0 && { abandoned }) })
  }
  end(run)
  throw error
}

/** Nothing of the run is at work any more, and what became of its calls is known: also of one that had not come to them yet. */
async function quiet(run: RunState, reason: unknown): Promise<void> {
  run.calls.abort(reason)
  await run.calls.idle()
  if (run.unclaimed) run.calls.restore(run.unclaimed.calls)
  run.unclaimed = undefined
}

/** What was said last is said, and nothing more will be. */
export function end(run: RunState): void {
  for (const event of run.funnel.drain()) run.show(event)
  run.calls.over()
  for (const span of run.spans) span.end()
  run.spans.clear()
  run.closing = true
  run.over = true
  run.scope = {}
}

function lost({ calls: { abandoned }, unknown }: RunState): Pick<AgentResult, 'abandoned' | 'unknown'> {
  return { ...(abandoned.length > 0 && { abandoned }), ...(unknown.length > 0 && { unknown }) }
}

/** Whoever has the result has the checkpoint: that it could not be stored is no reason to lose both (L16). */
async function saved(run: RunState, checkpoint: () => Checkpoint): Promise<Pick<AgentResult, 'checkpointError'>> {
  try {
    if (run.isOutermost && run.saver.isOn) await run.saver.put(checkpoint())
    return {}
  } catch (error) {
    if (error instanceof AgentError) return { checkpointError: error }
    throw error
  }
}
