/** Between a run and its reader: the run never waits, and what waits for the reader is bounded (B12). */

import type { AgentEvent } from './events.ts'

/** The end of a run: its last event, or the error the reader gets after what waits. */
type End = { readonly event: AgentEvent } | { readonly error: unknown }

export class EventBuffer {
  /** `custom` events that were dropped. */
  dropped = 0
  readonly #limit: number
  readonly #queue: AgentEvent[] = []
  /** Of each call the progress nobody has taken yet: the newest wins (I3). */
  readonly #progress: Map<string, AgentEvent> = new Map()
  #end: End | 'left' | undefined
  #wake: (() => void) | undefined

  /** `limit`: from so many waiting events on, neighbouring deltas are joined and the oldest `custom` events dropped. */
  constructor(limit: number) {
    this.#limit = limit
  }

  push(event: AgentEvent): void {
    if (this.#end) return
    if (event.type === 'tool-progress') this.#replace(event.callId, event)
    if (this.#queue.length < this.#limit || !this.#squeeze(event)) this.#queue.push(event)
    this.#stir()
  }

  /** No more will come. */
  end(end: End): void {
    if (this.#end) return
    this.#end = end
    if ('event' in end) this.#queue.push(end.event)
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
      for (let event = this.#queue.shift(); event; event = this.#queue.shift()) {
        if (event.type === 'tool-progress') this.#progress.delete(event.callId)
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

  #replace(callId: string, event: AgentEvent): void {
    const older = this.#progress.get(callId)
    if (older) this.#queue.splice(this.#queue.lastIndexOf(older), 1)
    this.#progress.set(callId, event)
  }

  /** Makes room; gives whether the event is taken care of. */
  #squeeze(event: AgentEvent): boolean {
    const last = this.#queue.at(-1)
    const joined = last && join(last, event)
    if (joined) {
      this.#queue[this.#queue.length - 1] = joined
      return true
    }
    const oldest = this.#queue.findIndex(({ type }) => type === 'custom')
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
