/**
 * Holds events that wait, in order: for a run's reader, or until the reader has seen their call. Above a limit, events are joined or dropped. The cost
 * of an event does not depend on how many are waiting.
 */

import type { AgentEvent } from '../vocabulary/events.ts'

export class EventQueue {
  /** How many `custom` events were dropped. */
  dropped = 0
  readonly #limit: number
  readonly #keeps: 'newest' | 'first'
  /** By number, in order of arrival. A removed event leaves a gap. */
  readonly #events: Map<number, AgentEvent> = new Map()
  #first = 0
  #next = 0
  /** The newest waiting progress of each call, which replaces older ones. */
  readonly #progress: Map<string, number> = new Map()
  /** The latest delta of each part, as long as only deltas and progress follow it. */
  readonly #deltas: Map<string, number> = new Map()
  readonly #customs: Set<number> = new Set()

  /**
   * `limit`: from this many events on, a delta is joined to the latest one of its part, and the oldest `custom` events are dropped. If it `keeps` the
   * first, at most this many `custom` events wait, and later ones are dropped.
   */
  constructor(limit: number, keeps: 'newest' | 'first' = 'newest') {
    this.#limit = limit
    this.#keeps = keeps
  }

  push(event: AgentEvent): void {
    if (event.type === 'tool-progress') this.#delete(this.#progress.get(progressKey(event)))
    if (this.#events.size < this.#limit || !this.#squeeze(event)) this.append(event)
  }

  /** Adds an event regardless of the limit. */
  append(event: AgentEvent): void {
    const number = this.#next++
    this.#events.set(number, event)
    if (event.type === 'tool-progress') this.#progress.set(progressKey(event), number)
    else if ('delta' in event) this.#deltas.set(partOf(event), number)
    else this.#deltas.clear()
    if (event.type === 'custom') this.#customs.add(number)
  }

  /** Removes and returns the first event. */
  take(): AgentEvent | undefined {
    while (this.#first < this.#next) {
      const event = this.#delete(this.#first++)
      if (event) return event
    }
    return undefined
  }

  clear(): void {
    while (this.take());
  }

  #delete(number = -1): AgentEvent | undefined {
    const event = this.#events.get(number)
    this.#events.delete(number)
    this.#customs.delete(number)
    // The call's next progress report must not replace the one that was just taken.
    if (event?.type === 'tool-progress') this.#progress.delete(progressKey(event))
    return event
  }

  /** Makes room for an event. Returns whether the event was joined to another or dropped. */
  #squeeze(event: AgentEvent): boolean {
    if ('delta' in event && this.#join(event)) return true
    if (this.#keeps === 'first') return event.type === 'custom' && this.#isDropped()
    const [oldest] = this.#customs
    this.#delete(oldest)
    if (oldest !== undefined || event.type === 'custom') this.dropped++
    return oldest === undefined && event.type === 'custom'
  }

  #isDropped(): boolean {
    if (this.#customs.size < this.#limit) return false
    this.dropped++
    return true
  }

  #join(delta: Delta): boolean {
    const number = this.#deltas.get(partOf(delta)) ?? -1
    const waiting = this.#events.get(number)
    if (!waiting || !('delta' in waiting)) return false
    this.#events.set(number, { ...waiting, delta: waiting.delta + delta.delta })
    return true
  }
}

/** Contains the run id and the makers, because the reader may see several runs, and calls of several tools, each with its own call ids. */
function progressKey({ runId, makers, callId }: Extract<AgentEvent, { readonly type: 'tool-progress' }>): string {
  return JSON.stringify([runId, makers, callId])
}

type Delta = Extract<AgentEvent, { readonly delta: string }>

/** Identifies the part of a response to which a delta belongs. */
function partOf(delta: Delta): string {
  return JSON.stringify([delta.runId, delta.attempt, delta.type, 'id' in delta ? delta.id : ''])
}
