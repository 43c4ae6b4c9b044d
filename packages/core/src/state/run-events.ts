/** Tells the reader of a run its events, in the order in which they happen, and keeps its warnings. */

import { Funnel } from '../flow/funnel.ts'
import type { CallState } from '../machine/call.ts'
import { told } from '../machine/decide-call.ts'
import type { AgentEvent, AgentEventBody } from '../vocabulary/events.ts'
import type { ToolMessage } from '../vocabulary/message.ts'
import type { Warning } from '../vocabulary/warning.ts'

/** The run whose events they are, as far as they concern it. */
interface Teller {
  readonly id: string
  readonly over: boolean
  readonly steps: { readonly begun: number }
  readonly calls: { get(callId: string): { readonly state: CallState; decide(after: CallState): boolean } | undefined }
}

export class RunEvents {
  /** What everything at work has to tell comes together here. */
  readonly funnel: Funnel<AgentEvent> = new Funnel((event) => this.show(event))
  /** All there were: the result has them. */
  readonly warnings: Warning[] = []
  readonly #run: Teller
  readonly #reader: (event: AgentEvent) => void

  constructor(run: Teller, reader: (event: AgentEvent) => void) {
    this.#run = run
    this.#reader = reader
  }

  /** Straight to the reader, who is told nothing once the run is over. */
  show(event: AgentEvent): void {
    if (this.#run.over) return
    // That of a call inside one of its calls may have the same id.
    const ended = event.type === 'tool-end' && event.runId === this.#run.id && this.#run.calls.get(event.callId)
    if (ended) ended.decide(told(ended.state, 'shown'))
    this.#reader(event)
  }

  /** What was pushed and nobody took. */
  showRest(): void {
    for (const event of this.funnel.drain()) this.show(event)
  }

  /**
   * An event of the run, or one that has its stamp already. `outside` of the steps, a `wrapAgent` speaks past the events that go
   * up through it, straight to the reader.
   */
  push(event: AgentEvent | AgentEventBody, outside = false): void {
    if (this.#run.over) return
    const stamped = 'runId' in event ? event : this.#stamped(event)
    if (outside) this.show(stamped)
    else this.funnel.push(stamped)
  }

  /** The end of a call. */
  callEnded(callId: string, message: ToolMessage): void {
    this.push({ type: 'tool-end', callId, toolName: message.name, message })
  }

  /** An event of the loop's own. It goes on when that is taken. */
  tell(body: AgentEventBody): Promise<void> | void {
    this.push(body)
    return this.taken()
  }

  /** Waits for the wraps round the steps to take what was pushed, if there are any. Throws when nobody will. */
  taken(): Promise<void> | void {
    this.throwIfOver()
    return this.funnel.taken()
  }

  /** What goes on though nobody waits for it any more comes to its end. */
  throwIfOver(): void {
    if (this.#run.over) throw new TypeError('the run is over')
  }

  warn(warning: Warning, outside = false): void {
    if (this.#run.over) return
    this.warnings.push(warning)
    this.push({ type: 'warning', ...warning }, outside)
  }

  #stamped(body: AgentEventBody): AgentEvent {
    const { id, steps } = this.#run
    return steps.begun > 0 ? { runId: id, step: steps.begun, ...body } : { runId: id, ...body }
  }
}
