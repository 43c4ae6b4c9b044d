/** Tells the reader of calls: nothing before the model event that announces a call, and nothing after the call is over. */

import { eventOf } from '../machine/call.ts'
import { told } from '../machine/decide-call.ts'
import { callHidden, callShown } from '../machine/decide-calls.ts'
import { sameCall } from '../vocabulary/canonical.ts'
import type { AgentEvent, AgentEventBody, CustomEvent, ToolProgress } from '../vocabulary/events.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import type { ToolEvent } from '../vocabulary/middleware.ts'
import type { Progress } from '../vocabulary/tool-status.ts'
import type { CallEntry } from './call-entry.ts'

/** So many events of one call wait at the most: what comes beyond is dropped. */
const MOST_WAITING = 1_024

type Provisional = Extract<
  AgentEventBody,
  { type: 'tool-start' | 'tool-entered' | 'tool-progress' | 'tool-settled' | 'custom' }
>

/** Which call an event is of. */
type OfCall = Pick<ToolProgress, 'callId' | 'toolName'>

/** Whoever is told. */
export interface Listener {
  readonly checkpoint: unknown
  readonly events: {
    push(event: AgentEvent | AgentEventBody): void
    callEnded(callId: string, message: ToolMessage): void
  }
}

export class CallEvents {
  readonly #run: Listener
  /** What the reader was told last of each call of the step, by id. */
  readonly #announced: Map<string, ToolCall> = new Map()
  /** What waits until the reader is told of its call. */
  readonly #waiting: Map<CallEntry, (AgentEventBody | AgentEvent)[]> = new Map()
  /** Ids of those the reader knows to have the members their tools need. */
  readonly #ready: Set<string> = new Set()

  constructor(run: Listener) {
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
    const { call, table, number, provisional } = entry
    const announced = provisional && this.#announced.get(call.id)
    if (provisional) callHidden(table.state, number, announced ? sameCall(announced, call) : false)
    const rerun = entry.state.isRerun && { rerun: true as const }
    this.#emit(entry, { type: 'tool-start', ...ofCall(entry), call, ...rerun })
  }

  /** Its tool's function is called. */
  entered(entry: CallEntry, attempt: number): void {
    this.#emit(entry, { type: 'tool-entered', ...ofCall(entry), attempt })
  }

  /** It has its result before its model call has stood. */
  settled(entry: CallEntry): void {
    this.#emit(entry, { type: 'tool-settled', ...ofCall(entry), provisional: true })
  }

  /** What its flow gives. Once the call is aborted that is closed at its next event: it would go on all the same. */
  yielded(entry: CallEntry, event: ToolEvent): void {
    entry.signal.throwIfAborted()
    if (event.type === 'custom') this.custom(entry, { source: entry.call.name, ...event })
    else this.#progress(entry, event)
  }

  custom(entry: CallEntry, event: CustomEvent): void {
    this.#emit(entry, { ...event, ...ofCall(entry) })
  }

  /**
   * The reader has been told of the call: what it has emitted follows, and what the calls it made have. One that started with the
   * members it needs is told of with its whole input, as it would be anyway.
   */
  show(entry: CallEntry, call: ToolCall = entry.call): void {
    for (const one of callShown(entry.table.state, entry.number).flatMap((number) => entry.table.of(number) ?? [])) {
      const events = this.#waiting.get(one)
      this.#waiting.delete(one)
      for (const event of events ?? []) {
        const isStart = one === entry && event.type === 'tool-start' && !('runId' in event)
        this.#run.events.push(isStart ? { ...event, call } : event)
      }
    }
  }

  committed(entry: CallEntry): void {
    this.show(entry)
    const { callId: startedAs, toolName } = ofCall(entry)
    const callId = entry.id
    this.#run.events.push({ type: 'tool-committed', callId, toolName, ...(startedAs !== callId && { startedAs }) })
  }

  /** Of a call the reader was never told of, it is told nothing. */
  discarded(entry: CallEntry): void {
    // It has started on what the reader knows, even if the rest never came or was wrong.
    if (entry.rest && this.#ready.has(entry.call.id)) this.show(entry, entry.rest.started)
    this.#waiting.delete(entry)
    if (entry.discarded && entry.state.told !== 'hidden')
      this.#run.events.push({ type: 'tool-discarded', ...ofCall(entry), cause: entry.discarded })
  }

  /** What settles when the checkpoint is taken is open in it: a resume tells of its end. */
  ended(entry: CallEntry): void {
    const { id, message } = entry
    if (message && !this.#run.checkpoint && entry.decide(told(entry.state, 'ended')))
      this.#run.events.callEnded(id, message)
  }

  /** Of the work behind its call. */
  workEnded({ id, message }: CallEntry): void {
    if (message && !this.#run.checkpoint)
      this.#run.events.push({ type: 'background-end', callId: id, toolName: message.name, message })
  }

  #progress(entry: CallEntry, progress: Progress): void {
    const event: ToolProgress = {
      type: 'tool-progress',
      ...ofCall(entry),
      timestamp: Date.now(),
      cancelable: entry.status.cancelable,
      ...entry.status.report(progress),
    }
    this.#emit(entry, event)
  }

  #emit(entry: CallEntry, event: Provisional): void {
    this.tell(entry, entry.provisional ? { ...event, provisional: true } : { ...event, callId: entry.id })
  }

  /** An event of the call, or of the run inside it as that run's reader would get it. */
  tell(entry: CallEntry, event: AgentEventBody | AgentEvent): void {
    const becomes = eventOf(entry.state)
    if (becomes === 'told') this.#run.events.push(event)
    if (becomes !== 'waits') return
    const waiting = this.#waiting.get(entry) ?? []
    this.#waiting.set(entry, waiting)
    const last = waiting.at(-1)
    if (last && isOwnProgress(event) && isOwnProgress(last)) waiting[waiting.length - 1] = event
    else if (waiting.length < MOST_WAITING) waiting.push(event)
  }
}

/** Under the id that it was made with. */
function ofCall({ call: { id, name } }: CallEntry): OfCall {
  return { callId: id, toolName: name }
}

/** Of the call itself, and not of a run inside it. */
function isOwnProgress(event: AgentEventBody | AgentEvent): boolean {
  return event.type === 'tool-progress' && !('runId' in event)
}
