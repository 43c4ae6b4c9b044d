/** What the reader sees of calls: nothing before the model event that announced them, nothing after they are over (B7, B8). */

import type { AgentEvent, AgentEventBody, CustomEvent, ToolProgress } from '../events.ts'
import { noted } from '../machine/decide-call.ts'
import type { ToolCall } from '../message.ts'
import type { ToolEvent } from '../middleware.ts'
import type { RunState } from '../run/run.ts'
import type { Progress } from '../tool.ts'
import type { CallEntry } from './call-entry.ts'
import { sameCall } from './canonical.ts'

/** Events of one call that wait for its announcement, at the most: what comes beyond is dropped. */
const MOST_HIDDEN = 1_024

type Provisional = Extract<AgentEventBody, { type: 'tool-start' | 'tool-progress' | 'custom' }>

export class CallEvents {
  readonly #run: RunState
  /** What the reader was told last of each call of the step, by id. */
  readonly #announced: Map<string, ToolCall> = new Map()
  /** Events of calls whose announcement has not come through the wraps yet. */
  readonly #hidden: Map<CallEntry, (AgentEventBody | AgentEvent)[]> = new Map()
  /** Ids of those the reader knows to have the members their tools need. */
  readonly #ready: Set<string> = new Set()

  constructor(run: RunState) {
    this.#run = run
  }

  /** A step's model call begins, with calls of its own. */
  renew(): void {
    this.#announced.clear()
    this.#ready.clear()
  }

  announced(call: ToolCall): void {
    this.#announced.set(call.id, call)
  }

  ready(callId: string): void {
    this.#ready.add(callId)
  }

  started(entry: CallEntry): void {
    if (entry.provisional && !this.#isTold(entry)) this.#hidden.set(entry, [])
    const rerun = entry.state.isRerun && { rerun: true as const }
    this.#emit(entry, { type: 'tool-start', callId: entry.call.id, call: entry.call, ...rerun })
  }

  /** What its flow gives. Once the call is aborted that is closed at its next event: it would go on all the same (I14). */
  yielded(entry: CallEntry, event: ToolEvent): void {
    entry.signal.throwIfAborted()
    if (event.type === 'custom') this.custom(entry, { source: entry.call.name, ...event })
    else this.#progress(entry, event)
  }

  custom(entry: CallEntry, event: CustomEvent): void {
    this.#emit(entry, { ...event, callId: entry.call.id })
  }

  /** An event of the run inside the call, as its reader would get it. */
  nested(entry: CallEntry, event: AgentEvent): void {
    if (entry.settled || entry.discarded) return
    const hidden = this.#hidden.get(entry)
    if (!hidden) this.#run.events.push(event)
    else if (hidden.length < MOST_HIDDEN) hidden.push(event)
  }

  /**
   * The reader has been told of the call: what it has emitted follows, and what the calls it made have. One that started with the
   * members it needs is told of with its whole input, as it would be anyway (H16).
   */
  show(entry: CallEntry, call: ToolCall = entry.call): void {
    const events = this.#hidden.get(entry)
    this.#hidden.delete(entry)
    for (const event of events ?? []) {
      const isOwn = event.type === 'tool-start' && !('runId' in event)
      this.#run.events.push(isOwn ? { ...event, call } : event)
    }
    for (const child of entry.children) this.show(child)
  }

  committed(entry: CallEntry): void {
    this.show(entry)
    const startedAs = entry.call.id
    this.#run.events.push({ type: 'tool-committed', callId: entry.id, ...(startedAs !== entry.id && { startedAs }) })
  }

  /** Of a call the reader was never told of, it is told nothing. */
  discarded(entry: CallEntry): void {
    // It has started on what the reader knows, even if the rest never came or was wrong.
    if (entry.rest && this.#ready.has(entry.call.id)) this.show(entry, entry.rest.started)
    const untold = this.#hidden.delete(entry)
    if (entry.discarded && !untold)
      this.#run.events.push({ type: 'tool-discarded', callId: entry.call.id, cause: entry.discarded })
  }

  /** What settles when the checkpoint is taken is open in it: a resume tells of its end (K15). */
  ended(entry: CallEntry): void {
    if (!entry.message || entry.state.isTold || this.#run.checkpoint) return
    entry.decide(noted, 'isTold')
    this.#run.events.push({ type: 'tool-end', callId: entry.id, message: entry.message })
  }

  /** Of the work behind its call. */
  workEnded({ id, message }: CallEntry): void {
    if (message && !this.#run.checkpoint) this.#run.events.push({ type: 'background-end', callId: id, message })
  }

  /** A call that another makes is told of with it. */
  #isTold({ call, maker }: CallEntry): boolean {
    if (maker) return !this.#hidden.has(maker)
    const announced = this.#announced.get(call.id)
    return announced !== undefined && sameCall(announced, call)
  }

  #progress(entry: CallEntry, progress: Progress): void {
    const event: ToolProgress = {
      type: 'tool-progress',
      callId: entry.call.id,
      name: entry.call.name,
      timestamp: Date.now(),
      cancelable: entry.status.cancelable,
      ...entry.status.report(progress),
    }
    this.#emit(entry, event)
  }

  #emit(entry: CallEntry, event: Provisional): void {
    if (entry.settled || entry.discarded) return
    const body: AgentEventBody = entry.provisional ? { ...event, provisional: true } : { ...event, callId: entry.id }
    const hidden = this.#hidden.get(entry)
    if (!hidden) this.#run.events.push(body)
    else if (event.type === 'tool-progress' && hidden.at(-1)?.type === 'tool-progress') hidden[hidden.length - 1] = body
    else if (hidden.length < MOST_HIDDEN) hidden.push(body)
  }
}
