/** Brings a run from where it is to its next stop. It may be called at any time, by any number of workers. */

import {
  type Agent,
  type AgentResult,
  AnswerError,
  type Checkpoint,
  CheckpointConflictError,
  CheckpointMismatchError,
  CheckpointMissingError,
  type CheckpointStore,
  CheckpointStoreError,
  CheckpointVersionError,
  ContextError,
  type Json,
  messageOf,
} from '@meanwhile/core'
import type { Changes } from './changes.ts'
import type { Database } from './database.ts'
import type { EngineCall } from './engine.ts'
import { type ErrorInfo, RunHandedBackError, RunPoisonedError, UnknownAgentError } from './errors.ts'
import { EventWriter } from './event-writer.ts'
import { type Inboxes, LiveRun } from './live-run.ts'
import type { Claim, NewRun, RunEnd, RunsTable } from './runs-table.ts'

/** What all work on runs in a process shares. */
export interface Workshop {
  readonly database: Database
  readonly runs: RunsTable
  readonly store: CheckpointStore
  readonly changes: Changes
  readonly inboxes: Inboxes
  readonly agents: ReadonlyMap<string, Agent>
  /** Milliseconds that an event may wait for others; undefined: no events are written. */
  readonly eventsEvery: number | undefined
  readonly maxAttempts: number
  contextOf(run: NewRun): Promise<unknown>
  isAgain(error: unknown, attempt: number): boolean
}

/** A worker, as the runs at work in it know it. */
export interface Bench {
  readonly live: Set<LiveRun>
  isStopping: boolean
  /** Aborted when its time to stop is over. */
  readonly signal: AbortSignal
}

export async function advance(shop: Workshop, bench: Bench, id: string, call: EngineCall): Promise<void> {
  const signal = AbortSignal.any([call.signal, bench.signal])
  let goesOn = true
  while (goesOn) {
    if (bench.isStopping) throw new RunHandedBackError(id)
    const live = new LiveRun(shop.runs, id)
    bench.live.add(live)
    // Before it is claimed: what comes later is told.
    const unwatch = shop.changes.watch(id, () => live.obey())
    try {
      const claim = await shop.runs.claim(id)
      goesOn = claim !== undefined && (await stretch(shop, live, claim, signal))
    } finally {
      unwatch()
      bench.live.delete(live)
    }
    shop.changes.tell(id)
  }
}

/** From one stop to the next. Returns whether the run is to go on at once. A rejection is for the engine, which calls again. */
async function stretch(shop: Workshop, live: LiveRun, claim: Claim, signal: AbortSignal): Promise<boolean> {
  const { runs } = shop
  if (claim.tries > shop.maxAttempts)
    return await ended(shop, claim, failed(new RunPoisonedError(claim.id, claim.tries - 1)))
  // No worker was at it.
  if (claim.cancel) return await ended(shop, claim, { status: 'cancelled' })
  const events =
    shop.eventsEvery === undefined ? undefined : new EventWriter(shop.database, shop.changes, claim, shop.eventsEvery)
  try {
    const result = await play(shop, live, claim, events, signal)
    if (result === 'waits') return await waits(shop, claim, events)
    if (result.checkpointError) throw result.checkpointError
    if (result.status === 'interrupted')
      return await waits(
        shop,
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
    await events?.end()
    if (signal.aborted || error instanceof RunHandedBackError) throw error
    if (error instanceof AnswerError) {
      // Nothing has run: the question takes another answer.
      await runs.withdraw(claim.id, error.id)
      return await runs.interrupt(claim, [], infoOf(error))
    }
    if (claim.tries < shop.maxAttempts && shop.isAgain(error, claim.tries)) throw error
    return await ended(shop, claim, failed(error), live.read)
  }
}

/** Resumes the run, and tells its events. `waits`: it waits for an answer, and there is none. */
async function play(
  shop: Workshop,
  live: LiveRun,
  claim: Claim,
  events: EventWriter | undefined,
  signal: AbortSignal,
): Promise<AgentResult | 'waits'> {
  const { id, conversationId, rerun } = claim
  const agent = shop.agents.get(claim.agent)
  if (!agent) throw new UnknownAgentError(id, claim.agent, [...shop.agents.keys()])
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
        // A reader cannot know what of the events of earlier attempts was stored.
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
  claim: Claim,
  events: EventWriter | undefined,
  open: readonly string[] = [],
): Promise<boolean> {
  const goesOn = await runs.interrupt(claim, open)
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

/** The checkpoint as it is stored: the agent checks it. @throws {CheckpointMissingError} There is none. */
export async function storedCheckpoint(store: CheckpointStore, id: string): Promise<Checkpoint> {
  const checkpoint = await store.load(id)
  if (!isCheckpoint(checkpoint)) throw new CheckpointMissingError(id)
  return checkpoint
}

export function isCheckpoint(value: unknown): value is Checkpoint {
  return typeof value === 'object' && value !== null && 'interrupts' in value && Array.isArray(value.interrupts)
}

/** Another worker has the run, or can do what this one cannot: the run itself has not failed. */
export function isForAnother(error: unknown): boolean {
  return (
    error instanceof CheckpointConflictError ||
    error instanceof CheckpointStoreError ||
    error instanceof CheckpointMismatchError ||
    error instanceof CheckpointVersionError ||
    error instanceof UnknownAgentError
  )
}

/** @throws {ContextError} It cannot be made. */
export async function madeContext(
  make: ((run: ContextRequest) => unknown) | undefined,
  { id, agent, conversationId, data }: NewRun,
): Promise<unknown> {
  try {
    return await make?.({
      id,
      agent,
      ...(conversationId !== undefined && { conversationId }),
      ...(data !== undefined && { data }),
    })
  } catch (cause) {
    throw new ContextError([{ path: '', message: messageOf(cause) }], { cause })
  }
}

/** What a context is made from. */
export interface ContextRequest {
  readonly id: string
  /** The agent's name. */
  readonly agent: string
  readonly conversationId?: string
  /** What `start` was given. */
  readonly data?: Json
}
