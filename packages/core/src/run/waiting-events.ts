/** Holds the events that wait for a run's reader, in order. Beyond a limit, some make room for others. An event costs the same, however many wait. */

import type { AgentEvent } from '../vocabulary/events.ts'

export class WaitingEvents {
  /** `custom` events that were dropped. */
  dropped = 0
  readonly #limit: number
  /** By number, in order of arrival. What gave way leaves a gap. */
  readonly #events: Map<number, AgentEvent> = new Map()
  #first = 0
  #next = 0
  /** Of each call the progress nobody has taken yet: the newest wins. */
  readonly #progress: Map<string, number> = new Map()
  /** Of each part the latest delta, as long as nothing but deltas and progress, which comes and goes, is behind it. */
  readonly #deltas: Map<string, number> = new Map()
  readonly #customs: Set<number> = new Set()

  /** `limit`: from so many on, a delta is joined to its part's latest and the oldest `custom` events are dropped. */
  constructor(limit: number) {
    this.#limit = limit
  }

  push(event: AgentEvent): void {
    if (event.type === 'tool-progress') this.#delete(this.#progress.get(progressKey(event)))
    if (this.#events.size < this.#limit || !this.#squeeze(event)) this.append(event)
  }

  /** Whatever the limit. */
  append(event: AgentEvent): void {
    const number = this.#next++
    this.#events.set(number, event)
    if (event.type === 'tool-progress') this.#progress.set(progressKey(event), number)
    else if ('delta' in event) this.#deltas.set(partOf(event), number)
    else this.#deltas.clear()
    if (event.type === 'custom') this.#customs.add(number)
  }

  /** The first. */
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
    // The next of its call takes no other's place.
    if (event?.type === 'tool-progress') this.#progress.delete(progressKey(event))
    return event
  }

  /** Makes room; gives whether the event is taken care of. */
  #squeeze(event: AgentEvent): boolean {
    if ('delta' in event && this.#join(event)) return true
    const [oldest] = this.#customs
    this.#delete(oldest)
    if (oldest !== undefined || event.type === 'custom') this.dropped++
    return oldest === undefined && event.type === 'custom'
  }

  #join(delta: Delta): boolean {
    const number = this.#deltas.get(partOf(delta)) ?? -1
    const waiting = this.#events.get(number)
    if (!waiting || !('delta' in waiting)) return false
    this.#events.set(number, { ...waiting, delta: waiting.delta + delta.delta })
    return true
  }
}

/** Of several runs the reader sees, each has its own ids. */
function progressKey({ runId, callId }: Extract<AgentEvent, { readonly type: 'tool-progress' }>): string {
  return JSON.stringify([runId, callId])
}

type Delta = Extract<AgentEvent, { readonly delta: string }>

/** The part of a response that a delta belongs to. */
function partOf(delta: Delta): string {
  return JSON.stringify([delta.runId, delta.attempt, delta.type, 'id' in delta ? delta.id : ''])
}
