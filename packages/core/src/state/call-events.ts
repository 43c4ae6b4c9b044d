/** Shows the reader the events of calls. None comes before the model event that announces its call, and none after the call is over. */

import { eventOf } from '../machine/call.ts'
import { told } from '../machine/decide-call.ts'
import { callHidden, callShown } from '../machine/decide-calls.ts'
import { sameCall } from '../vocabulary/canonical.ts'
import type { AgentEvent, AgentEventBody, OfCall } from '../vocabulary/events.ts'
import type { ToolCall } from '../vocabulary/message.ts'
import type { ToolEvent } from '../vocabulary/middleware.ts'
import { NO_PROGRESS, type Progress } from '../vocabulary/tool-status.ts'
import type { Warning } from '../vocabulary/warning.ts'
import type { CallEntry } from './call-entry.ts'
import { EventQueue } from './event-queue.ts'

/** From this many waiting events of a call on, deltas are joined. At most this many `custom` events wait, and later ones are dropped. */
const MOST_WAITING = 1_024

type Provisional = WithoutCall<
  Extract<AgentEventBody, { type: 'tool-start' | 'tool-entered' | 'tool-progress' | 'tool-settled' | 'custom' }>
>
type WithoutCall<Event> = Event extends unknown ? Omit<Event, keyof OfCall> : never

/** What receives the events. */
export interface Listener {
  readonly checkpoint: unknown
  readonly events: {
    stamped(event: AgentEvent | AgentEventBody): AgentEvent
    push(event: AgentEvent | AgentEventBody): void
    warn(warning: Warning): void
  }
}

export class CallEvents {
  readonly #run: Listener
  /** The calls of the step as the reader last saw them, by id. */
  readonly #announced: Map<string, ToolCall> = new Map()
  /** Events that wait until the reader has seen their call. */
  readonly #waiting: Map<CallEntry, EventQueue> = new Map()
  /** The ids of the calls whose needed members the reader has seen. */
  readonly #ready: Set<string> = new Set()
  /** Warnings about calls that are neither committed nor discarded. */
  readonly #warnings: Map<CallEntry, Warning[]> = new Map()
  /** The names of the tools with a warning that they yield something else than progress. */
  readonly #empty: Set<string> = new Set()

  constructor(run: Listener) {
    this.#run = run
  }

  /** Called when the model call of a step begins, with new calls. */
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
    const { call, table, number, provisional, state } = entry
    const announced = this.#announced.get(call.id)
    if (provisional) callHidden(table.state, number, announced !== undefined && sameCall(announced, call))
    this.emit(entry, { type: 'tool-start', call, ...(state.isRerun && { rerun: true }) })
  }

  /** Takes an event of the call's flow. Throws once the call is aborted, which closes the flow at its next event, so that it does not continue. */
  yielded(entry: CallEntry, event: ToolEvent): void {
    entry.signal.throwIfAborted()
    if (event.type === 'custom') this.emit(entry, { source: entry.call.name, ...event })
    else this.#progress(entry, event)
  }

  /**
   * Called when the reader has seen the call: now the events of the call and of its inner calls follow. A call that started with only its needed
   * members is shown with its complete input.
   */
  show(entry: CallEntry, call: ToolCall = entry.call): void {
    for (const one of entry.table.allOf(callShown(entry.table.state, entry.number))) {
      const events = this.#waiting.get(one)
      this.#waiting.delete(one)
      for (let event = events?.take(); event; event = events?.take()) {
        if (event.type === 'tool-start' && one === entry && !event.path) event = { ...event, call }
        this.#run.events.push(event)
      }
      if (events?.dropped) this.#run.events.warn(leftOut(one, events.dropped))
    }
  }

  committed(entry: CallEntry): void {
    this.show(entry)
    const startedAs = entry.call.id
    this.#run.events.push({ type: 'tool-committed', ...entry.named, ...(startedAs !== entry.id && { startedAs }) })
    this.#warnOf(entry)
  }

  /** Emits a warning about a call, once the call is committed. A discarded call has none, as if it had never been made. */
  warn(entry: CallEntry, warning: Warning): void {
    if (entry.provisional) {
      const waiting = this.#warnings.get(entry) ?? []
      this.#warnings.set(entry, waiting)
      waiting.push(warning)
    } else if (!entry.discarded) this.#run.events.warn(warning)
  }

  /** Called when the run stops for a resume, which keeps the results of these calls, but not their warnings. */
  warnOfResults(): void {
    for (const entry of this.#warnings.keys()) if (entry.message) this.#warnOf(entry)
  }

  #warnOf(entry: CallEntry): void {
    const warnings = this.#warnings.get(entry) ?? []
    this.#warnings.delete(entry)
    for (const warning of warnings) this.#run.events.warn(warning)
  }

  /** Emits the discard of a call, if the reader has seen the call. */
  discarded(entry: CallEntry): void {
    // The reader sees the input that the call started with, even if the rest was wrong or never arrived.
    if (entry.rest && this.#ready.has(entry.call.id)) this.show(entry, entry.rest.started)
    this.#waiting.delete(entry)
    // If it has warned that its progress is empty, the next call of its tool warns again.
    if (this.#warnings.delete(entry)) this.#empty.delete(entry.call.name)
    if (entry.discarded && entry.state.told !== 'hidden')
      this.#run.events.push({ type: 'tool-discarded', ...entry.named, cause: entry.discarded })
  }

  /** Emits the end of a call. If a call settles after the checkpoint was taken, it is open in the checkpoint, and a resume emits its end. */
  ended(entry: CallEntry): void {
    const { message, named, state } = entry
    if (message && !this.#run.checkpoint && entry.decide(told(state, 'ended')))
      this.#run.events.push({ type: 'tool-end', ...named, message })
  }

  /** Called when the background work of a call has ended. */
  workEnded({ message, named }: CallEntry): void {
    if (message && !this.#run.checkpoint) this.#run.events.push({ type: 'background-end', ...named, message })
  }

  #progress(entry: CallEntry, progress: Progress): void {
    const isEmpty = !('progress' in progress || 'message' in progress || 'metadata' in progress)
    if (isEmpty && !this.#empty.has(entry.call.name)) {
      this.#empty.add(entry.call.name)
      this.warn(entry, { code: 'empty-progress', message: `${entry.call.name} ${NO_PROGRESS}`, source: 'core' })
    }
    this.emit(entry, {
      type: 'tool-progress',
      timestamp: Date.now(),
      cancelable: entry.status.cancelable,
      ...entry.status.report(progress),
    })
  }

  /** Emits an event of the call, which it names. */
  emit(entry: CallEntry, event: Provisional): void {
    this.tell(entry, { ...event, ...entry.named, ...(entry.provisional && { provisional: true }) })
  }

  /** Emits an event of the call, or an event of a run inside it as the reader of that run would see it. */
  tell(entry: CallEntry, event: AgentEventBody | AgentEvent): void {
    const becomes = eventOf(entry.state)
    if (becomes === 'told') this.#run.events.push(event)
    if (becomes !== 'waits') return
    const waiting = this.#waiting.get(entry) ?? new EventQueue(MOST_WAITING, 'first')
    this.#waiting.set(entry, waiting)
    waiting.push(this.#run.events.stamped(event))
  }
}

function leftOut({ call }: CallEntry, dropped: number): Warning {
  const why = `the call started early, and at most ${MOST_WAITING} of them wait until the reader has seen it`
  const message = `${dropped} custom events of ${call.name} were left out: ${why}`
  return { code: 'events-left-out', message, source: 'core' }
}
