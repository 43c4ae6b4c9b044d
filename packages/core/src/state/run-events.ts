/** Passes the events of a run to its reader, in the order in which they happen, and collects its warnings. */

import { Funnel } from '../flow/funnel.ts'
import type { CallState } from '../machine/call.ts'
import { told } from '../machine/decide-call.ts'
import { isWithin } from '../vocabulary/call-limits.ts'
import type { AgentEvent, AgentEventBody } from '../vocabulary/events.ts'
import type { ToolMessage } from '../vocabulary/message.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import type { Warning } from '../vocabulary/warning.ts'

/** The part of a run that its events need. */
interface EventsOwner {
  readonly id: string
  readonly mostShown: number
  readonly middleware: readonly Middleware[]
  readonly over: boolean
  readonly steps: { readonly begun: number }
  readonly calls: { get(callId: string): { readonly state: CallState; decide(after: CallState): boolean } | undefined }
}

export class RunEvents {
  /** Collects the events of everything that is running. */
  readonly funnel: Funnel<AgentEvent> = new Funnel((event) => this.show(event))
  /** All warnings, for the result. */
  readonly warnings: Warning[] = []
  /** The warnings about events that were left out, as core has written them: a middleware may change them. */
  readonly #leftOut = new Set<string>()
  readonly #run: EventsOwner
  readonly #reader: (event: AgentEvent) => void

  constructor(run: EventsOwner, reader: (event: AgentEvent) => void) {
    this.#run = run
    this.#reader = reader
  }

  /** Passes an event directly to the reader. After the end of the run it does nothing. */
  show(event: AgentEvent): void {
    if (this.#run.over || this.#isLeftOut(event)) return
    // A call of a run inside this one, or one that a tool makes, may have the same id.
    const isOwn = event.type === 'tool-end' && event.runId === this.#run.id && !event.makers
    const ended = isOwn && this.#run.calls.get(event.callId)
    if (ended) ended.decide(told(ended.state, 'shown'))
    this.#reader(event)
  }

  /**
   * Whether progress or a custom event is over the limit on results. Each source has one warning, and one more after a resume. A decision repeats
   * its question, which was shown.
   */
  #isLeftOut(event: AgentEvent): boolean {
    if (event.type !== 'custom' && event.type !== 'tool-progress') return false
    const most = this.#run.mostShown
    const [source, ...carried] =
      event.type === 'custom' ? [event.source, event.data] : [event.toolName, event.message ?? '', event.metadata ?? '']
    const isDecision = event.type === 'custom' && event.source === 'approve' && event.name === 'approval'
    if (isDecision || carried.every((one) => isWithin(one, most))) return false
    const message = `events of ${source} longer than ${most} characters were left out`
    if (this.#leftOut.has(message)) return true
    this.#leftOut.add(message)
    this.warn({ code: 'events-left-out', message, source: 'core' }, true)
    return true
  }

  /** Shows events that were pushed and not taken. */
  showRest(): void {
    for (const event of this.funnel.drain()) this.show(event)
  }

  /**
   * Pushes an event of the run, or one that already has a run id. With `outside`, an event of a `wrapAgent` goes directly to the reader, and bypasses
   * the events that pass through that wrap.
   */
  push(event: AgentEvent | AgentEventBody, outside = false): void {
    if (this.#run.over) return
    const stamped = this.stamped(event)
    if (outside) this.show(stamped)
    else this.funnel.push(stamped)
  }

  /** Emits the end of a call of a response. */
  callEnded(message: ToolMessage): void {
    this.push({ type: 'tool-end', callId: message.callId, toolName: message.name, message })
  }

  /** Emits an event of the loop. The returned promise resolves when the event is taken. */
  tell(body: AgentEventBody): Promise<void> | void {
    this.push(body)
    return this.taken()
  }

  /** Waits until the wraps around the steps have taken what was pushed, if there are any. Throws when nothing will take it. */
  taken(): Promise<void> | void {
    this.throwIfOver()
    return this.funnel.taken()
  }

  /** Throws in code that still runs after the run is over. */
  throwIfOver(): void {
    if (this.#run.over) throw new TypeError('the run has ended')
  }

  warn(given: Warning, outside = false): void {
    if (this.#run.over) return
    const warning = this.#run.middleware.reduce((one, by) => by.onWarning?.(one) ?? one, given)
    this.warnings.push(warning)
    this.push({ type: 'warning', ...warning }, outside)
  }

  /** The event with the id and the step of the run, unless it has a run id already. */
  stamped(body: AgentEvent | AgentEventBody): AgentEvent {
    const { id, steps } = this.#run
    if ('runId' in body) return body
    return steps.begun > 0 ? { runId: id, step: steps.begun, ...body } : { runId: id, ...body }
  }
}
