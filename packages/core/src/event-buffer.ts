/** Between a run and its reader: the run never waits, and what waits for the reader is bounded (B12). */

import type { AgentEvent } from './events.ts'

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
  #end: { readonly error?: unknown } | undefined
  #wake: (() => void) | undefined

  /** `limit`: from so many waiting events on, neighbouring deltas are joined and the oldest `custom` events dropped. */
  constructor(limit: number) {
    this.#limit = limit
  }

  push(event: AgentEvent): void {
    if (!this.#replaceProgress(event) && !(this.#queue.length >= this.#limit && this.#squeeze(event))) this.#add(event)
    this.#stir()
  }

  /** No more will come; with an error, the reader gets it after what waits. */
  end(end: { readonly error?: unknown }): void {
    this.#end = end
    this.#stir()
  }

  async next(): Promise<IteratorResult<AgentEvent, undefined>> {
    while (this.#queue.length === 0 && !this.#end) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const waiting = this.#queue.shift()
    if (waiting) {
      if (waiting.event.type === 'tool-progress') this.#progress.delete(waiting.event.callId)
      return { done: false, value: waiting.event }
    }
    const end = this.#end
    this.#end = {}
    if (end && 'error' in end) throw end.error
    return { done: true, value: undefined }
  }

  #add(event: AgentEvent): void {
    const waiting = { event }
    this.#queue.push(waiting)
    if (event.type === 'tool-progress') this.#progress.set(event.callId, waiting)
  }

  #replaceProgress(event: AgentEvent): boolean {
    const older = event.type === 'tool-progress' ? this.#progress.get(event.callId) : undefined
    if (older) older.event = event
    return older !== undefined
  }

  /** Makes room; gives whether the event is taken care of. */
  #squeeze(event: AgentEvent): boolean {
    const last = this.#queue.at(-1)
    const joined = last && join(last.event, event)
    if (joined) {
      last.event = joined
      return true
    }
    const oldest = this.#queue.findIndex((waiting) => waiting.event.type === 'custom')
    if (oldest >= 0) this.#queue.splice(oldest, 1)
    if (oldest >= 0 || event.type === 'custom') this.dropped++
    return oldest < 0 && event.type === 'custom'
  }

  #stir(): void {
    this.#wake?.()
    this.#wake = undefined
  }
}

/** Two neighbouring deltas of one part as one. */
function join(a: AgentEvent, b: AgentEvent): AgentEvent | undefined {
  if (!('delta' in a) || !('delta' in b) || a.type !== b.type || a.attempt !== b.attempt) return undefined
  if ('id' in a && 'id' in b && a.id !== b.id) return undefined
  return { ...a, delta: a.delta + b.delta }
}
