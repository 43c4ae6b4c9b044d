/** Advances a run until it stops: it ends, waits for an answer, or the worker stops. Any number of workers may call it, at any time. */

import {
  AgentError,
  type AgentEvent,
  type AgentResult,
  AnswerError,
  type Checkpoint,
  type CheckpointStore,
  hasFinalAnswer,
  messageOf,
  type PendingInterrupt,
} from '@meanwhile/core'
import type { EngineCall } from './engine.ts'
import { type ErrorInfo, RunHandedBackError, RunPoisonedError } from './errors.ts'
import { EventWriter } from './event-writer.ts'
import { messagesRead } from './inbox.ts'
import { LiveRun } from './live-run.ts'
import { reportStop } from './report-stop.ts'
import type { Claim, RunEnd } from './runs-table.ts'
import { agentOf, type Services } from './services.ts'
import { findCheckpoint, storedCheckpoint } from './stored-checkpoint.ts'

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
    if (!live.isKnown) services.changes.notify(id)
  }
}

/** Runs until the next stop. Returns whether the run must continue at once. A rejection goes to the engine, which calls again. */
async function runUntilStop(services: Services, claim: Claim, live: LiveRun, signal: AbortSignal): Promise<boolean> {
  const { runs, maxAttempts, eventsEvery } = services
  const events =
    eventsEvery === undefined ? undefined : new EventWriter(services.database, services.changes, claim, eventsEvery)
  const attempt = { claim, live, events, signal }
  if (claim.attemptsSinceStop > maxAttempts)
    return await storeEnd(services, attempt, endBy(new RunPoisonedError(claim.id, claim.attemptsSinceStop - 1), claim))
  try {
    // No worker had the run. A final answer that an earlier one has stored stands.
    if (claim.cancel && !hasFinalAnswer(await findCheckpoint(services.store, claim.id)))
      return await storeEnd(services, attempt, { status: 'cancelled' })
    const result = await resumeRun(services, attempt)
    if (result.status === 'waiting') return await storeWait(services, attempt, result.checkpoint)
    if (result.checkpointError) throw result.checkpointError
    live.outcome = result
    if (result.status === 'interrupted') return await storeQuestions(services, attempt, result.interrupts)
    await events?.end()
    if (result.status === 'cancelled' && live.isHandedBack && !live.isCancelled) {
      await runs.handBack(claim)
      throw new RunHandedBackError(claim.id)
    }
    return await storeEnd(services, attempt, { status: result.status })
  } catch (error) {
    if (error instanceof AnswerError) return await storeRefusal(services, attempt, error)
    if (error instanceof AgentError) live.outcome = { status: 'failed', messages: error.messages, usage: error.usage }
    await events?.end()
    if (signal.aborted || error instanceof RunHandedBackError) throw error
    if (claim.attemptsSinceStop < maxAttempts && services.shouldRetry(error, claim.attemptsSinceStop)) throw error
    return await storeEnd(services, attempt, endBy(error, claim))
  }
}

/** Resumes the run and writes its events. `waiting`: the run waits for an answer and has none. */
async function resumeRun(
  services: Services,
  { claim, live, events, signal }: Attempt,
): Promise<AgentResult | { readonly status: 'waiting'; readonly checkpoint: Checkpoint }> {
  const { id, conversationId, rerun } = claim
  const agent = agentOf(services, claim)
  const checkpoint = await storedCheckpoint(services.store, id)
  const answers = await services.runs.answers(id, idsOf(checkpoint.interrupts))
  if (checkpoint.status === 'interrupted' && Object.keys(answers).length === 0) return { status: 'waiting', checkpoint }
  const context = await services.createContext(claim)
  const closeInbox = services.inboxes.open(live, claim)
  try {
    const run = agent.resume(checkpoint, answers, {
      checkpoints: countingStore(services, claim, live),
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
        if (event.type === 'run-start' && !event.path) events.push(historyOf(checkpoint))
      }
    }
    return await run.result
  } finally {
    closeInbox()
  }
}

/** Stores that the run has asked. Returns whether there already is an answer. */
async function storeQuestions(
  services: Services,
  attempt: Attempt,
  questions: readonly PendingInterrupt[],
): Promise<boolean> {
  const { claim, events } = attempt
  const read = await readCount(services, attempt)
  const stored = await services.runs.interrupt(claim, { open: idsOf(questions), isNew: true, read })
  if (stored && !stored.isAnswered) events?.push({ type: 'run-stopped', status: 'interrupted' })
  await events?.end()
  return stored?.isAnswered ?? false
}

/** Stores that the run still waits. Returns whether there is an answer by now. */
async function storeWait(services: Services, attempt: Attempt, checkpoint: Checkpoint): Promise<boolean> {
  const { claim, events } = attempt
  const { interrupts } = checkpoint
  const read = messagesRead(checkpoint)
  const stored = await services.runs.interrupt(claim, { open: idsOf(interrupts), isNew: false, read })
  if (!stored || stored.isAnswered) return stored?.isAnswered ?? false
  // The worker that has asked may have died before it wrote its last events.
  if (events && !(await events.endsWithStop())) {
    events.push(historyOf(checkpoint))
    events.push({ type: 'run-stopped', status: 'interrupted', ...(stored.error && { error: stored.error }) })
    await events.end()
  }
  return false
}

/** Stores that an answer was refused. Nothing has run yet, so the question accepts another answer. */
async function storeRefusal(services: Services, attempt: Attempt, refusal: AnswerError): Promise<false> {
  const { claim, events } = attempt
  const error = infoOf(refusal)
  const read = await readCount(services, attempt)
  if (await services.runs.refuse(claim, { interrupt: refusal.id, error, read }))
    events?.push({ type: 'run-stopped', status: 'interrupted', error })
  await events?.end()
  return false
}

async function storeEnd(services: Services, attempt: Attempt, end: RunEnd): Promise<false> {
  const { runs, changes, listeners } = services
  const { claim, live } = attempt
  // Listeners receive the stop before readers see it.
  const told = end.status === 'completed' ? changes.notificationOfCompletion(claim.id) : changes.notification(claim.id)
  const notification = listeners.size === 0 ? told : undefined
  const isStored = await runs.settle(claim, end, await readCount(services, attempt), notification)
  live.isKnown = isStored && notification !== undefined
  return false
}

/**
 * How many messages of its inbox the run has read and stored. Only its checkpoint knows that, as an earlier worker may have died. Undefined if the
 * run has no messages, no checkpoint, or has completed: then it is stored already. If a broken store hides it from the last attempt, the stop is
 * stored without it.
 */
async function readCount(services: Services, { claim, live }: Attempt): Promise<number | undefined> {
  if (claim.sent === 0 && live.read === undefined) return undefined
  try {
    const checkpoint = await findCheckpoint(services.store, claim.id)
    return checkpoint && checkpoint.status !== 'completed' ? messagesRead(checkpoint) : undefined
  } catch (error) {
    if (claim.attemptsSinceStop < services.maxAttempts) throw error
    return undefined
  }
}

/** The checkpoint of a completed run has no run-local values: what it has read is stored just before. */
function countingStore({ store, runs }: Services, claim: Claim, live: LiveRun): CheckpointStore {
  return {
    load: (id) => store.load(id),
    async save(id, checkpoint, expected) {
      const { status } = Object(checkpoint)
      if (status === 'completed' && live.read !== undefined) await runs.read(claim, live.read)
      await store.save(id, checkpoint, expected)
    },
    delete: (id) => store.delete(id),
    prune: (options) => store.prune(options),
  }
}

function idsOf(questions: readonly PendingInterrupt[]): readonly string[] {
  return questions.map(({ id }) => id)
}

function historyOf({ runId, messages }: Checkpoint): AgentEvent {
  return { type: 'history-replaced', runId, messages }
}

/** A run that was cancelled before this attempt has not failed, whatever keeps the attempt from its final answer. */
function endBy(error: unknown, { cancel }: Claim): RunEnd {
  return cancel ? { status: 'cancelled' } : { status: 'failed', error: infoOf(error) }
}

function infoOf(error: unknown): ErrorInfo {
  return { name: error instanceof Error ? error.name : 'Error', message: messageOf(error) }
}
