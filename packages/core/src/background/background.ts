/** Adds background tools: a call of such a tool has a result immediately, and its work continues in parallel with the run. */

import { unheard } from '../flow/unheard.ts'
import {
  ownWorks,
  resultRead,
  stoppedWork,
  unreadWorks,
  type Work,
  workBeforeAnswer,
  worksHandedOver,
} from '../machine/background.ts'
import type { Calls } from '../machine/calls.ts'
import { begun } from '../machine/decide-call.ts'
import { atEndOf } from '../state/call-effect.ts'
import { CallEntry } from '../state/call-entry.ts'
import type { BackgroundCapability, BackgroundWorks } from '../state/capabilities.ts'
import type { RunState } from '../state/run.ts'
import { resultNotice } from '../tool-call/no-result-message.ts'
import { checkedOf, withChecked } from '../vocabulary/checked-input.ts'
import { freeze } from '../vocabulary/history.ts'
import type { ToolCall, ToolMessage, UserMessage } from '../vocabulary/message.ts'
import type { ToolFlow } from '../vocabulary/middleware.ts'
import type { BackgroundHandle } from '../vocabulary/result.ts'
import type { Tool } from '../vocabulary/tool.ts'
import { awaitsResume, handleOf, makeWork, resultOf, startWork } from './background-work.ts'
import { withStatusTool } from './status-tool.ts'

export const background: BackgroundCapability<RunState, CallEntry> = {
  worksOf: (run) => new Works(run),
  withOwnTools: withStatusTool,
}

class Works implements BackgroundWorks<CallEntry> {
  readonly #run: RunState
  #wake: () => void = () => undefined

  constructor(run: RunState) {
    this.#run = run
  }

  start(entry: CallEntry, tool: Tool, call: ToolCall): ToolFlow {
    return startWork(this.#run, entry, tool, call, () => this.#begin(entry, call))
  }

  /** Returns the latest call with this id. */
  get(callId: string): CallEntry | undefined {
    return this.entries().findLast(({ id }) => id === callId)
  }

  of({ key }: CallEntry): CallEntry | undefined {
    return this.entries().find((work) => work.key === key)
  }

  read(callId: string): ToolMessage | undefined {
    const entry = this.get(callId)
    const message = entry && resultOf(entry)
    if (message) resultRead(this.#calls, entry.number)
    return message
  }

  deliver(): UserMessage[] {
    const unread = unreadWorks(this.#calls)
    for (const { number } of unread) resultRead(this.#calls, number)
    return this.#entriesOf(unread).flatMap(({ message }) => (message ? [resultNotice(message)] : []))
  }

  stopIfAsked(): void {
    this.#throwStop(stoppedWork(this.#calls))
  }

  entries(): readonly CallEntry[] {
    return this.#run.calls.table.works()
  }

  async untilAnswerMayBeAccepted(): Promise<void> {
    const { halt, signal } = this.#run
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    let due = workBeforeAnswer(this.#calls, halt.state)
    for (; due.is === 'wait'; due = workBeforeAnswer(this.#calls, halt.state))
      await Promise.race([woken, ...this.#entriesOf(due.for).map(({ promise }) => promise)])
    signal.throwIfAborted()
    if (due.is === 'judge') return
    this.#throwStop(due.by)
    // The answer was not accepted yet. The run stops while the work is running, and a resume checks the answer again.
    throw halt.halted.reason ?? halt.error
  }

  wake(): void {
    this.#wake()
  }

  handOver(): BackgroundHandle[] {
    const handed = this.#entriesOf(worksHandedOver(this.#calls))
    for (const entry of this.#own()) if (awaitsResume(entry)) this.#run.calls.events.workEnded(entry)
    return handed.map(handleOf)
  }

  abort(reason: unknown): void {
    for (const entry of this.#own()) entry.abort(reason, this.#run.config.grace)
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#own().map(({ promise }) => promise))
  }

  goOn(entry: CallEntry): void {
    if (!entry.settled) {
      entry.decide(begun(entry.state))
      this.#perform(entry)
    } else if (entry.message) this.#run.calls.events.workEnded(entry)
  }

  get #calls(): Calls {
    return this.#run.calls.table.state
  }

  #entriesOf(works: readonly Work[]): CallEntry[] {
    return works.flatMap(({ number }) => this.#run.calls.table.of(number) ?? [])
  }

  #own(): CallEntry[] {
    return this.#entriesOf(ownWorks(this.#calls))
  }

  #throwStop(work: Work | undefined): void {
    const stopped = work && this.#run.calls.table.of(work.number)?.stopped
    if (stopped) throw stopped
  }

  /** Starts the work of a call whose input was checked. It starts once, even if its wraps or a resume request it again. */
  #begin(entry: CallEntry, call: ToolCall): void {
    if (this.of(entry)) return
    const { key, id, tool, state, parent, requestedIn } = entry
    const { calls, caller } = this.#run
    const made = {
      key,
      call: withChecked(freeze({ ...call, id }), checkedOf(call)),
      tool,
      step: state.step,
      parent,
      requestedIn,
      caller,
    }
    this.#perform(new CallEntry(calls.table, { ...made, work: { atEnd: atEndOf(tool) } }))
  }

  #perform(entry: CallEntry): void {
    const { calls, saver } = this.#run
    const made = makeWork(this.#run, entry).then((message) => {
      if (!awaitsResume(entry)) calls.events.workEnded(entry)
      return message
    })
    entry.promise = unheard(made.finally(() => saver.soon()))
  }
}
