/** Starts a run, executes it from its input or checkpoint to its result, and returns the object that its caller controls it with. */

import { hasFinalAnswer, idFrom, resultIn } from '../checkpoint/checkpoint.ts'
import { checkpointOf } from '../checkpoint/take.ts'
import { follow } from '../flow/follow.ts'
import { unheard } from '../flow/unheard.ts'
import { inboxClosed } from '../machine/steps.ts'
import { claim, load } from '../resume/go-on.ts'
import { type Nesting, RunState, type RunWork } from '../state/run.ts'
import { runSpan } from '../telemetry/around.ts'
import { cancelCall, statusOf } from '../tool-call/calls-by-id.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { type CancelOptions, checkedCancel } from '../vocabulary/cancel.ts'
import { RunAbortedError, RunStop } from '../vocabulary/errors.ts'
import type { AgentEvent, PathPart } from '../vocabulary/events.ts'
import { inputMessages } from '../vocabulary/history.ts'
import type { UserMessage } from '../vocabulary/message.ts'
import type { AgentResult, CompletedResult } from '../vocabulary/result.ts'
import {
  type Beginning,
  checkRunOptions,
  type ResumeOptions,
  type Resumption,
  type RunOptions,
} from '../vocabulary/run-options.ts'
import type { ToolStatus } from '../vocabulary/tool-status.ts'
import { completed, end, failed, stopped } from './endings.ts'
import { EventBuffer } from './event-buffer.ts'
import { beginRun, endRun, runSetupHooks } from './hooks.ts'
import { withOwnTools } from './set-up.ts'
import { wrappedLoop } from './wrapped-loop.ts'

/** A running run. It continues whether its events are read or not. Its events can be read once; a reader that stops before the end aborts the run. */
export interface AgentRun<Output = unknown> extends AsyncIterable<AgentEvent> {
  /** The id of the run. */
  readonly id: string
  /** The result, or the error that ended the run. You do not have to await it. */
  readonly result: Promise<AgentResult<Output>>
  /**
   * Stops the run at a safe point, with a checkpoint for `agent.resume`. A later call can make the stop earlier, but not later. Resolves when the run
   * has ended: `cancelled`; `ended` if it completed, failed or asked a question before; `aborted` if its signal aborted it first.
   *
   * @throws {ConfigError} An option is invalid.
   */
  cancel(options?: CancelOptions): Promise<{ readonly status: 'cancelled' | 'ended' | 'aborted' }>
  /**
   * Adds a user message to the history at the next safe point, before the next model call. If the model is writing its answer, another step follows.
   * In a resumed run the message comes before the model call at which the run was stopped.
   *
   * Returns false once the end of the run is decided. After `agent.resume(checkpoint)` that is known immediately. After `agent.resume(id)` it returns
   * true until the checkpoint is loaded; if that run had ended, `result` rejects with an `InputError` that has the messages in `notTaken`. If the run
   * fails before a step reads the message, the message is at the end of the error's `messages`.
   *
   * @throws {InputError} The message is not a user message, or is empty.
   */
  send(message: string | UserMessage): boolean
  /** Like `run.cancelTool`. */
  cancelTool(callId: string, path?: readonly PathPart[]): boolean
  /** Like `run.toolStatus`; also works after the end of the run. */
  toolStatus(callId: string, path?: readonly PathPart[]): ToolStatus | undefined
}

/** Starts a run. Its events are kept for its reader, dropped, or shown to the reader of the outer run. */
export function startRun(
  work: RunWork,
  config: AgentConfig,
  beginning: Beginning,
  options: RunOptions & ResumeOptions,
  events: 'kept' | 'dropped' | Nesting,
): AgentRun {
  const buffer = events === 'kept' ? new EventBuffer(options.eventBuffer ?? 1_024) : undefined
  const nesting = typeof events === 'string' ? undefined : events
  const show = nesting?.show ?? ((event: AgentEvent) => buffer?.push(event))
  const { conversationId, signal, context, checkpoints = config.checkpoints } = options
  const from = nesting ? undefined : new Error()
  const id = 'resume' in beginning ? idFrom(beginning.resume.from) : (options.id ?? crypto.randomUUID())
  const run = new RunState(config, { work, id, conversationId, checkpoints, nesting, signal, context, show })
  if ('resume' in beginning && hasFinalAnswer(beginning.resume.from)) inboxClosed(run.steps.state)
  const attributes = config.telemetry?.attributes
  let ended = false
  const result = unheard(
    run.telemetry.around(runSpan, run.context, {
      begin: () => ({
        runId: id,
        model: config.setup.model,
        resumed: 'resume' in beginning,
        ...(typeof attributes === 'function' && {
          own: () => attributes(work.view(run, { context: run.context, source: 'telemetry.attributes' })),
        }),
        middleware: config.middleware.map(({ name }) => name),
      }),
      // Work of the run outside hooks, models and tools, such as saving, also gets its spans below the run's span.
      make: ({ context }) => {
        run.context = context
        return wholeRun(run, beginning, options)
      },
      done: (result) => {
        ended = true
        const dropped = buffer?.dropped ?? 0
        const event: AgentEvent = { runId: run.id, type: 'run-end', result, ...(dropped > 0 && { dropped }) }
        nesting?.show(event)
        buffer?.end({ event })
        return result
      },
      failed: (error) => {
        ended = true
        if (from) addFrames(error, from)
        buffer?.end({ error })
        return error
      },
      came: ({ returned, error }) => ({
        result: returned?.result,
        error,
        steps: run.steps.begun,
        usage: run.usage,
        calls: run.calls.counts,
        wanted: run.calls.wanted,
        unknown: run.unknown.length,
      }),
    }),
  )
  return {
    id: run.id,
    result,
    async cancel(options = {}) {
      if (ended) return { status: 'ended' }
      // While the end is being saved, a cancel changes nothing.
      if (!run.over) run.halt.cancel(checkedCancel(options))
      return result.then(
        ({ status }) => ({ status: status === 'cancelled' ? status : 'ended' }),
        (error: unknown) => ({ status: error instanceof RunAbortedError ? 'aborted' : 'ended' }),
      )
    },
    send(message) {
      const isTaken = run.inbox.send(message)
      if (isTaken) saveSent(run).catch(() => undefined)
      return isTaken
    },
    cancelTool: (callId, path) => cancelCall(run, callId, path),
    toolStatus: (callId, path) => statusOf(run, callId, path),
    [Symbol.asyncIterator]: readOnce(buffer, async () => {
      run.halt.fail(new RunAbortedError(new Error('the reader of its events stopped reading')))
      await result.catch(() => undefined)
    }),
  }
}

/** Saves a sent message immediately, because the run may be aborted in this turn. Messages sent before the first step are saved by that step. */
async function saveSent(run: RunState): Promise<void> {
  const { saver, steps, unclaimed } = run
  if (saver.isOn && steps.begun > 0 && !unclaimed) await saver.put(checkpointOf(run, 'running'))
}

/** Adds the frames of the code that started the run: the stack of an error ends at the code that last waited. An error may end several runs. */
function addFrames(error: unknown, from: Error): void {
  try {
    const frames = /\n[\s\S]*/.exec(from.stack ?? '')?.[0]
    if (frames && error instanceof Error && error.stack?.includes(frames) === false) error.stack += frames
  } catch {
    // The error is frozen, or a stack cannot be read.
  }
}

/** The events for the first reader. `left` is called when the reader leaves before the end. */
function readOnce(buffer: EventBuffer | undefined, left: () => Promise<void>): () => AsyncIterator<AgentEvent> {
  let read = false
  return () => {
    if (read || !buffer) throw new TypeError('the events of a run can be read once')
    read = true
    return {
      next: () => buffer.next(),
      async return() {
        buffer.leave()
        await left()
        return { done: true, value: undefined }
      },
    }
  }
}

async function wholeRun(run: RunState, beginning: Beginning, options: ResumeOptions): Promise<AgentResult> {
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
