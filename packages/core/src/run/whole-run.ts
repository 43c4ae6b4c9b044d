/** Executes a run from its input or checkpoint to its result. */

import { resultIn } from '../checkpoint/checkpoint.ts'
import { follow } from '../flow/follow.ts'
import { claim, load } from '../resume/go-on.ts'
import type { RunState } from '../state/run.ts'
import { RunAbortedError, RunStop } from '../vocabulary/errors.ts'
import { inputMessages } from '../vocabulary/history.ts'
import type { AgentResult, CompletedResult } from '../vocabulary/result.ts'
import { type Beginning, checkRunOptions, type ResumeOptions, type Resumption } from '../vocabulary/run-options.ts'
import { completed, end, failed, stopped } from './endings.ts'
import { beginRun, endRun, runSetupHooks } from './hooks.ts'
import { withOwnTools } from './set-up.ts'
import { wrappedLoop } from './wrapped-loop.ts'

export async function wholeRun(run: RunState, beginning: Beginning, options: ResumeOptions): Promise<AgentResult> {
  const { signal } = options
  const abort = () => run.halt.fail(new RunAbortedError(signal?.reason))
  let unfollow = () => {}
  const ends: (() => void)[] = []
  try {
    checkRunOptions(options, 'resume' in beginning)
    if (signal) unfollow = follow(signal, abort)
    if ('input' in beginning) run.history.begin({ messages: inputMessages(beginning.input) })
    if (signal?.aborted) abort()
    run.signal.throwIfAborted()
    const ready = 'resume' in beginning ? restored(run, beginning.resume) : run.userContext.checkFor(run.config)
    const kept = ready && (await run.halt.until<CompletedResult | undefined>(ready))
    run.events.push({ type: 'run-start', ...('resume' in beginning && { resumed: true }) }, true)
    if (kept) {
      end(run)
      return kept as AgentResult
    }
    run.unlock()
    run.signal.throwIfAborted()
    beginRun(run, ends)
    // Without an output schema the output is absent, and of the type `unknown`.
    return (await completed(run, await run.halt.until(work(run)))) as AgentResult
  } catch (thrown) {
    const error = run.signal.aborted ? run.halt.reason : thrown
    if (!(error instanceof RunStop) || run.halt.state.phase === 'loading') return await failed(run, error)
    return await stopped(run, error).catch((thrown: unknown) => failed(run, run.halt.failure ?? thrown))
  } finally {
    run.halt.close()
    unfollow()
    endRun(ends)
  }
}

/** Restores the state of a checkpoint. Returns the result if the run had already completed. */
async function restored(run: RunState, resume: Resumption): Promise<CompletedResult | undefined> {
  const checkpoint = await load(run, resume)
  run.telemetry.resumes(checkpoint.trace, checkpoint.conversationId)
  return resultIn(checkpoint)
}

/** Makes the set-up, then runs the steps. */
async function work(run: RunState): Promise<CompletedResult> {
  const setup = withOwnTools(await runSetupHooks(run))
  const checking = run.userContext.check(setup.tools)
  if (checking) await checking
  run.setup = setup
  const { resumed } = run
  if (resumed) await claim(run, resumed)
  // The span of a resumed run links to the earlier span, which has instructions and input, if that is a span of the run.
  if (!resumed?.checkpoint.trace || resumed.checkpoint.steps.begun === 0)
    run.telemetry.begins({ instructions: run.setup.instructions, messages: run.history.messages })
  return await wrappedLoop(run)
}
