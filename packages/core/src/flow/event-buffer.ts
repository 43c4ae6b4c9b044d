/** Between a run and its reader: the run never waits, and what waits for the reader is bounded (B12). */

import type { AgentEvent } from '../events.ts'

/** The end of a run: its last event, or the error the reader gets after what waits. */
type End = { readonly event: AgentEvent } | { readonly error: unknown }

type Step = IteratorResult<AgentEvent, undefined>

export class EventBuffer {
  /** `custom` events that were dropped. */
  dropped = 0
  readonly #limit: number
  readonly #queue: AgentEvent[] = []
  /** Of each call the progress nobody has taken yet: the newest wins (I3). */
  readonly #progress: Map<string, Progress> = new Map()
  /** What the reader waits for, if it does: then nothing waits for the reader. */
  #asked: { readonly step: Promise<Step>; readonly give: (step: Step | Promise<Step>) => void } | undefined
  #end: { readonly error: unknown } | 'over' | undefined

  /** `limit`: from so many waiting events on, a delta is joined to its part's latest and the oldest `custom` events dropped. */
  constructor(limit: number) {
    this.#limit = limit
  }

  push(event: AgentEvent): void {
    if (this.#end) return
    if (this.#asked) {
      this.#give({ done: false, value: event })
      return
    }
    if (event.type === 'tool-progress') this.#dropProgress(event)
    if (this.#queue.length < this.#limit || !this.#squeeze(event)) this.#add(event)
  }

  /** No more will come. */
  end(end: End): void {
    if (this.#end) return
    this.#end = 'error' in end ? end : 'over'
    if (this.#asked) this.#give('error' in end ? this.#last() : { done: false, value: end.event })
    else if ('event' in end) this.#add(end.event)
  }

  /** The reader has left: it gets nothing more, also if it waits. */
  leave(): void {
    this.#end = 'over'
    this.#queue.length = 0
    this.#give({ done: true, value: undefined })
  }

  /** What the reader gets: each event once and in order, then the end. Who asks ahead is answered in turn. */
  next(): Promise<Step> {
    if (this.#asked) return this.#asked.step.then(this.#again, this.#again)
    const event = this.#queue.shift()
    // The next of its call takes no other's place.
    if (event?.type === 'tool-progress') this.#progress.delete(callOf(event))
    if (event) return Promise.resolve({ done: false, value: event })
    return this.#end ? this.#last() : this.#ask()
  }

  readonly #again = (): Promise<Step> => this.next()

  #ask(): Promise<Step> {
    let give: (step: Step | Promise<Step>) => void = () => undefined
    const step = new Promise<Step>((resolve) => {
      give = resolve
    })
    this.#asked = { step, give }
    return step
  }

  #give(step: Step | Promise<Step>): void {
    const asked = this.#asked
    this.#asked = undefined
    asked?.give(step)
  }

  /** An error is thrown once. */
  async #last(): Promise<Step> {
    const end = this.#end
    this.#end = 'over'
    if (end && end !== 'over') throw end.error
    return { done: true, value: undefined }
  }

  #add(event: AgentEvent): void {
    this.#queue.push(event)
    if (event.type === 'tool-progress') this.#progress.set(callOf(event), event)
  }

  #dropProgress(event: Progress): void {
    const older = this.#progress.get(callOf(event))
    if (older) this.#queue.splice(this.#queue.lastIndexOf(older), 1)
  }

  /** Makes room; gives whether the event is taken care of. */
  #squeeze(event: AgentEvent): boolean {
    if ('delta' in event && this.#join(event)) return true
    const oldest = this.#queue.findIndex(({ type }) => type === 'custom')
    if (oldest >= 0) this.#queue.splice(oldest, 1)
    if (oldest >= 0 || event.type === 'custom') this.dropped++
    return oldest < 0 && event.type === 'custom'
  }

  /** Joins a delta to the latest of its part, if that waits and nothing but deltas and progress, which comes and goes, is behind it. */
  #join(delta: Delta): boolean {
    for (let i = this.#queue.length - 1; i >= 0; i--) {
      const waiting = this.#queue[i] as AgentEvent
      if ('delta' in waiting) {
        if (!isSamePart(waiting, delta)) continue
        this.#queue[i] = { ...waiting, delta: waiting.delta + delta.delta }
        return true
      }
      if (waiting.type !== 'tool-progress') return false
    }
    return false
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
