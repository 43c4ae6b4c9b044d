/** Between a run and its reader: the run never waits, and what waits for the reader is bounded (B12). */

import type { AgentEvent } from './events.ts'

/** The end of a run: its last event, or the error the reader gets after what waits. */
type End = { readonly event: AgentEvent } | { readonly error: unknown }

/** An event that waits; a delta grows while it does. */
interface Waiting {
  event: AgentEvent
}

export class EventBuffer {
  /** `custom` events that were dropped. */
  dropped = 0
  readonly #limit: number
  readonly #queue: Waiting[] = []
  /** Of each call the progress nobody has taken yet: the newest wins (I3). */
  readonly #progress: Map<string, Waiting> = new Map()
  #end: End | 'left' | undefined
  #wake: (() => void) | undefined

  /** `limit`: from so many waiting events on, a delta is joined to its part's latest and the oldest `custom` events dropped. */
  constructor(limit: number) {
    this.#limit = limit
  }

  push(event: AgentEvent): void {
    if (this.#end) return
    if (event.type === 'tool-progress') this.#dropProgress(event)
    if (this.#queue.length < this.#limit || !this.#squeeze(event)) this.#add(event)
    this.#stir()
  }

  /** No more will come. */
  end(end: End): void {
    if (this.#end) return
    this.#end = end
    if ('event' in end) this.#add(end.event)
    this.#stir()
  }

  /** The reader has left: it gets nothing more, also if it waits. */
  leave(): void {
    this.#end = 'left'
    this.#queue.length = 0
    this.#stir()
  }

  /** What the reader gets, once. */
  async *read(): AsyncGenerator<AgentEvent, undefined> {
    for (;;) {
      for (let taken = this.#queue.shift(); taken; taken = this.#queue.shift()) {
        const { event } = taken
        // The next of its call takes no other's place.
        if (event.type === 'tool-progress') this.#progress.delete(callOf(event))
        yield event
      }
      if (this.#end) break
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    if (this.#end !== 'left' && 'error' in this.#end) throw this.#end.error
    return undefined
  }

  #add(event: AgentEvent): void {
    const waiting = { event }
    this.#queue.push(waiting)
    if (event.type === 'tool-progress') this.#progress.set(callOf(event), waiting)
  }

  #dropProgress(event: Progress): void {
    const older = this.#progress.get(callOf(event))
    if (older) this.#queue.splice(this.#queue.lastIndexOf(older), 1)
  }

  /** Makes room; gives whether the event is taken care of. */
  #squeeze(event: AgentEvent): boolean {
    if ('delta' in event && this.#join(event)) return true
    const oldest = this.#queue.findIndex(({ event }) => event.type === 'custom')
    if (oldest >= 0) this.#queue.splice(oldest, 1)
    if (oldest >= 0 || event.type === 'custom') this.dropped++
    return oldest < 0 && event.type === 'custom'
  }

  /** Joins a delta to the latest of its part, if that waits and nothing but deltas and progress, which comes and goes, is behind it. */
  #join(delta: Delta): boolean {
    for (let i = this.#queue.length - 1; i >= 0; i--) {
      const waiting = this.#queue[i] as Waiting
      const { event } = waiting
      if ('delta' in event) {
        if (!isSamePart(event, delta)) continue
        waiting.event = { ...event, delta: event.delta + delta.delta }
        return true
      }
      if (event.type !== 'tool-progress') return false
    }
    return false
  }

  #stir(): void {
    this.#wake?.()
    this.#wake = undefined
  }
}

type Progress = Extract<AgentEvent, { readonly type: 'tool-progress' }>

/** Of several runs the reader sees, each has its own ids. */
function callOf({ runId, callId }: Progress): string {
  return JSON.stringify([runId, callId])
}

type Delta = Extract<AgentEvent, { readonly delta: string }>

/** Whether two deltas belong to the same part of the same response. */
function isSamePart(one: Delta, other: Delta): boolean {
  return (
    one.runId === other.runId &&
    one.attempt === other.attempt &&
    one.type === other.type &&
    ('id' in one ? one.id : '') === ('id' in other ? other.id : '')
  )
}
