/** Advances a run until it stops: it ends, waits for an answer, or the worker stops. Any number of workers may call it, at any time. */

import { AgentError, type AgentResult, AnswerError, messageOf } from '@meanwhile/core'
import type { EngineCall } from './engine.ts'
import { type ErrorInfo, RunHandedBackError, RunPoisonedError } from './errors.ts'
import { EventWriter } from './event-writer.ts'
import { LiveRun } from './live-run.ts'
import type { Claim, RunEnd } from './runs-table.ts'
import { tellStop } from './stopped-run.ts'
import { agentOf, storedCheckpoint, type Workshop } from './workshop.ts'

/** The worker, as its runs see it. */
export interface Bench {
  readonly live: Set<LiveRun>
  isStopping: boolean
  /** Aborted when the grace time of a stopping worker is over. */
  readonly signal: AbortSignal
}

export async function advance(shop: Workshop, bench: Bench, id: string, call: EngineCall): Promise<void> {
  const signal = AbortSignal.any([call.signal, bench.signal])
  let goesOn = true
  while (goesOn) {
    if (bench.isStopping) throw new RunHandedBackError(id)
    const live = new LiveRun(shop.runs, id)
    bench.live.add(live)
    // Before the claim, so that a change after the claim is noticed.
    const unwatch = shop.changes.watch(id, () => live.obey())
    try {
      const claim = await shop.runs.claim(id)
      goesOn = claim !== undefined && (await stretch(shop, live, claim, signal))
      // Before readers see the stop. If a listener throws, the engine calls again.
      if (!goesOn) await tellStop(shop, id, claim && live.outcome && { attempts: claim.attempt, ...live.outcome })
    } finally {
      unwatch()
      bench.live.delete(live)
    }
    shop.changes.tell(id)
  }
}

/** Runs until the next stop. Returns whether the run must continue at once. A rejection goes to the engine, which calls again. */
async function stretch(shop: Workshop, live: LiveRun, claim: Claim, signal: AbortSignal): Promise<boolean> {
  const { runs } = shop
  if (claim.tries > shop.maxAttempts)
    return await ended(shop, claim, failed(new RunPoisonedError(claim.id, claim.tries - 1)))
  // No worker had the run.
  if (claim.cancel) return await ended(shop, claim, { status: 'cancelled' })
  const events =
    shop.eventsEvery === undefined ? undefined : new EventWriter(shop.database, shop.changes, claim, shop.eventsEvery)
  try {
    const result = await play(shop, live, claim, events, signal)
    if (result === 'waits') return await waits(shop, live, claim, events)
    if (result.checkpointError) throw result.checkpointError
    live.outcome = result
    if (result.status === 'interrupted')
      return await waits(
        shop,
        live,
        claim,
        events,
        result.interrupts.map(({ id }) => id),
      )
    await events?.end()
    if (result.status === 'cancelled' && live.isHandedBack && !live.isCancelled) {
      await runs.handBack(claim)
      throw new RunHandedBackError(claim.id)
    }
    await runs.settle(claim, { status: result.status }, live.read)
    return false
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
    if (claim.tries < shop.maxAttempts && shop.isAgain(error, claim.tries)) throw error
    return await ended(shop, claim, failed(error), live.read)
  }
}

/** Resumes the run and writes its events. `waits`: the run waits for an answer and has none. */
async function play(
  shop: Workshop,
  live: LiveRun,
  claim: Claim,
  events: EventWriter | undefined,
  signal: AbortSignal,
): Promise<AgentResult | 'waits'> {
  const { id, conversationId, rerun } = claim
  const agent = agentOf(shop, claim)
  const checkpoint = await storedCheckpoint(shop.store, id)
  const asked = checkpoint.interrupts.map((one) => one.id)
  const answers = await shop.runs.answers(id, asked)
  if (checkpoint.status === 'interrupted' && Object.keys(answers).length === 0) return 'waits'
  const context = await shop.contextOf(claim)
  const close = shop.inboxes.open(live, claim)
  try {
    const run = agent.resume(checkpoint, answers, {
      checkpoints: shop.store,
      signal,
      ...(conversationId !== undefined && { conversationId }),
      ...(context !== undefined && { context }),
      ...(rerun && { rerun }),
      ...(!events && { eventBuffer: 0 }),
    })
    live.begin(run)
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
    close()
  }
}

async function waits(
  { runs }: Workshop,
  { read }: LiveRun,
  claim: Claim,
  events: EventWriter | undefined,
  open: readonly string[] = [],
): Promise<boolean> {
  const goesOn = await runs.interrupt(claim, { open, read })
  if (!goesOn && open.length > 0) events?.push({ type: 'run-stopped', status: 'interrupted' })
  await events?.end()
  return goesOn
}

async function ended({ runs }: Workshop, claim: Claim, end: RunEnd, read?: number): Promise<false> {
  await runs.settle(claim, end, read)
  return false
}

function failed(error: unknown): RunEnd {
  return { status: 'failed', error: infoOf(error) }
}

function infoOf(error: unknown): ErrorInfo {
  return { name: error instanceof Error ? error.name : 'Error', message: messageOf(error) }
}
