/** Advances a run until it stops: it ends, waits for an answer, or the worker stops. Any number of workers may call it, at any time. */

import { AgentError, type AgentResult, AnswerError, messageOf, type PendingInterrupt } from '@meanwhile/core'
import type { EngineCall } from './engine.ts'
import { type ErrorInfo, RunHandedBackError, RunPoisonedError } from './errors.ts'
import { EventWriter } from './event-writer.ts'
import { LiveRun } from './live-run.ts'
import type { Claim, RunEnd } from './runs-table.ts'
import { agentOf, type Services } from './services.ts'
import { reportStop } from './stopped-run.ts'
import { storedCheckpoint } from './stored-checkpoint.ts'

/** The worker, as its runs see it. */
export interface WorkerState {
  readonly live: Set<LiveRun>
  isStopping: boolean
  /** Aborted when the grace time of a stopping worker is over. */
  readonly signal: AbortSignal
}

/** One attempt of this worker to advance a run. */
interface Attempt {
  readonly claim: Claim
  readonly live: LiveRun
  /** Undefined if no events are stored. */
  readonly events: EventWriter | undefined
  /** Aborted when the engine gives the run to another worker, or when the worker has stopped. */
  readonly signal: AbortSignal
}

export async function advance(services: Services, worker: WorkerState, id: string, call: EngineCall): Promise<void> {
  const signal = AbortSignal.any([call.signal, worker.signal])
  let mustContinue = true
  while (mustContinue) {
    if (worker.isStopping) throw new RunHandedBackError(id)
    const live = new LiveRun(services.runs, id)
    worker.live.add(live)
    // Before the claim, so that a change after the claim is noticed.
    const unwatch = services.changes.watch(id, () => live.checkRequests())
    try {
      const claim = await services.runs.claim(id)
      mustContinue = claim !== undefined && (await runUntilStop(services, claim, live, signal))
      // Before readers see the stop. If a listener throws, the engine calls again.
      if (!mustContinue)
        await reportStop(services, id, claim && live.outcome && { attempts: claim.attempt, ...live.outcome })
    } finally {
      unwatch()
      worker.live.delete(live)
    }
    services.changes.notify(id)
  }
}

/** Runs until the next stop. Returns whether the run must continue at once. A rejection goes to the engine, which calls again. */
async function runUntilStop(services: Services, claim: Claim, live: LiveRun, signal: AbortSignal): Promise<boolean> {
  const { runs, maxAttempts, eventsEvery } = services
  if (claim.attemptsSinceStop > maxAttempts)
    return await storeEnd(services, claim, failed(new RunPoisonedError(claim.id, claim.attemptsSinceStop - 1)))
  // No worker had the run.
  if (claim.cancel) return await storeEnd(services, claim, { status: 'cancelled' })
  const events =
    eventsEvery === undefined ? undefined : new EventWriter(services.database, services.changes, claim, eventsEvery)
  const attempt = { claim, live, events, signal }
  try {
    const result = await resumeRun(services, attempt)
    if (result === 'waiting') return await storeWait(services, attempt, [])
    if (result.checkpointError) throw result.checkpointError
    live.outcome = result
    if (result.status === 'interrupted') return await storeWait(services, attempt, result.interrupts)
    await events?.end()
    if (result.status === 'cancelled' && live.isHandedBack && !live.isCancelled) {
      await runs.handBack(claim)
      throw new RunHandedBackError(claim.id)
    }
    return await storeEnd(services, claim, { status: result.status }, live.read)
  } catch (error) {
    if (error instanceof AnswerError) events?.push({ type: 'run-stopped', status: 'interrupted', error: infoOf(error) })
    else if (error instanceof AgentError)
      live.outcome = { status: 'failed', messages: error.messages, usage: error.usage }
    await events?.end()
    if (signal.aborted || error instanceof RunHandedBackError) throw error
    if (error instanceof AnswerError) {
      // Nothing has run yet, so the question accepts another answer.
      await runs.withdraw(claim.id, error.id)
      return await runs.interrupt(claim, { read: live.read, error: infoOf(error) })
    }
    if (claim.attemptsSinceStop < maxAttempts && services.shouldRetry(error, claim.attemptsSinceStop)) throw error
    return await storeEnd(services, claim, failed(error), live.read)
  }
}

/** Resumes the run and writes its events. `waiting`: the run waits for an answer and has none. */
async function resumeRun(
  services: Services,
  { claim, live, events, signal }: Attempt,
): Promise<AgentResult | 'waiting'> {
  const { id, conversationId, rerun } = claim
  const agent = agentOf(services, claim)
  const checkpoint = await storedCheckpoint(services.store, id)
  const asked = checkpoint.interrupts.map((question) => question.id)
  const answers = await services.runs.answers(id, asked)
  if (checkpoint.status === 'interrupted' && Object.keys(answers).length === 0) return 'waiting'
  const context = await services.createContext(claim)
  const closeInbox = services.inboxes.open(live, claim)
  try {
    const run = agent.resume(checkpoint, answers, {
      checkpoints: services.store,
      signal,
      ...(conversationId !== undefined && { conversationId }),
      ...(context !== undefined && { context }),
      ...(rerun && { rerun }),
      ...(!events && { eventBuffer: 0 }),
    })
    live.attach(run)
    if (events) {
      for await (const event of run) {
        if (event.type === 'run-end' && !event.path) continue
        events.push(event)
        // A reader cannot know which events of earlier attempts were stored.
        if (event.type === 'run-start' && !event.path)
          events.push({ type: 'history-replaced', runId: id, messages: checkpoint.messages })
      }
    }
    return await run.result
  } finally {
    closeInbox()
  }
}

/** Stores that the run waits for answers to these questions. Returns whether there already is an answer. */
async function storeWait(
  { runs }: Services,
  { claim, live: { read }, events }: Attempt,
  questions: readonly PendingInterrupt[],
): Promise<boolean> {
  const open = questions.map(({ id }) => id)
  const mustContinue = await runs.interrupt(claim, { open, read })
  if (!mustContinue && open.length > 0) events?.push({ type: 'run-stopped', status: 'interrupted' })
  await events?.end()
  return mustContinue
}

async function storeEnd({ runs }: Services, claim: Claim, end: RunEnd, read?: number): Promise<false> {
  await runs.settle(claim, end, read)
  return false
}

function failed(error: unknown): RunEnd {
  return { status: 'failed', error: infoOf(error) }
}

function infoOf(error: unknown): ErrorInfo {
  return { name: error instanceof Error ? error.name : 'Error', message: messageOf(error) }
}
