/** Adds tools that work in the background: such a call is answered at once, and its work goes on beside the run (I15). */

import { unheard } from '../flow/unheard.ts'
import { CallEntry, type NewCall } from '../state/call-entry.ts'
import type { BackgroundCapability, BackgroundWorks } from '../state/capabilities.ts'
import type { RunState } from '../state/run.ts'
import { settleAs } from '../tool-call/history-results.ts'
import { findTool } from '../vocabulary/aliases.ts'
import { freeze } from '../vocabulary/history.ts'
import type { ToolCall, ToolMessage, UserMessage } from '../vocabulary/message.ts'
import type { ToolFlow } from '../vocabulary/middleware.ts'
import type { BackgroundHandle } from '../vocabulary/result.ts'
import type { SavedWork } from '../vocabulary/saved-run.ts'
import type { Tool } from '../vocabulary/tool.ts'
import {
  atEndOf,
  handleOf,
  isKept,
  isNews,
  makeWork,
  resultOf,
  savedWork,
  startWork,
  stopIfAsked,
  told,
  type Work,
} from './background-work.ts'
import { withStatusTool } from './status-tool.ts'

export const background: BackgroundCapability<RunState, CallEntry> = {
  worksOf: (run) => new Works(run),
  withOwnTools: withStatusTool,
}

class Works implements BackgroundWorks<CallEntry> {
  readonly #run: RunState
  /** By the keys of their calls. */
  readonly #works: Map<string, Work> = new Map()
  #wake: () => void = () => undefined

  constructor(run: RunState) {
    this.#run = run
  }

  start(entry: CallEntry, tool: Tool, call: ToolCall): ToolFlow {
    return startWork(this.#run, entry, tool, call, () => this.#begin(entry, call))
  }

  get(callId: string): CallEntry | undefined {
    return this.#latest(callId)?.entry
  }

  of({ key }: CallEntry): CallEntry | undefined {
    return this.#works.get(key)?.entry
  }

  read(callId: string): ToolMessage | undefined {
    const work = this.#latest(callId)
    const message = work && resultOf(work)
    if (message) work.delivered = true
    return message
  }

  get hasNews(): boolean {
    return this.#all().some(isNews)
  }

  deliver(): UserMessage[] {
    return this.#all().flatMap((work) => {
      const message = resultOf(work)
      if (!message || work.delivered) return []
      work.delivered = true
      return [told(message)]
    })
  }

  stopIfAsked(): void {
    stopIfAsked(this.#open())
  }

  get isOpen(): boolean {
    return this.#works.size > 0 && this.#open().some(({ handedOver }) => !handedOver)
  }

  openEntries(): readonly CallEntry[] {
    return this.#open().map(({ entry }) => entry)
  }

  async beforeEnd(): Promise<void> {
    const { halt, signal } = this.#run
    const awaited = () => this.#open().filter(({ entry }) => atEndOf(entry.tool) === 'wait')
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    while (awaited().length > 0 && !halt.state.mode && !signal.aborted) {
      await Promise.race([woken, ...awaited().map(({ entry }) => entry.promise)])
    }
    signal.throwIfAborted()
    stopIfAsked(this.#open().filter(({ entry }) => atEndOf(entry.tool) !== 'cancel'))
    // Nobody has accepted the answer: the run stops with the work at work, and its resume offers it again.
    if (awaited().length > 0) halt.stopAt('after-tools')
  }

  wake(): void {
    this.#wake()
  }

  handOver(): BackgroundHandle[] {
    for (const work of this.#open()) {
      if (atEndOf(work.entry.tool) === 'detach') work.handedOver = true
      else if (isKept(work)) this.#run.calls.events.workEnded(work.entry)
    }
    const kept = this.#all().filter((work) => work.handedOver || isNews(work))
    return kept.map(({ entry }) => handleOf(entry.id, entry.call.name, entry.promise))
  }

  hasHandedOver(entry: CallEntry): boolean {
    const work = this.#works.get(entry.key)
    return work?.entry === entry && work.handedOver
  }

  abort(reason: unknown): void {
    const { grace } = this.#run.config
    for (const { entry, handedOver } of this.#open()) if (!handedOver) entry.abort(reason, grace)
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#open().flatMap(({ entry, handedOver }) => (handedOver ? [] : [entry.promise])))
  }

  save(isLast: boolean): SavedWork[] {
    return this.#all().map((work) => savedWork(work, isLast))
  }

  restore(saved: readonly SavedWork[]): readonly CallEntry[] {
    const { setup, context } = this.#run
    for (const executed of saved) {
      const { key, call, step, message, delivered } = executed
      const tool = findTool(setup.tools, call.name)
      const { entry } = this.#add(freeze(call), { key, tool, step, parent: context, executed }, delivered)
      if (message) settleAs(entry, message)
    }
    return this.#all().flatMap(({ entry }) => (entry.settled ? [] : [entry]))
  }

  goOn(entry: CallEntry): void {
    const work = this.#works.get(entry.key)
    if (work && !entry.settled) this.#perform(work)
    else if (entry.message) this.#run.calls.events.workEnded(entry)
  }

  /** Starts the work of a call whose input was checked; once, however often its wraps ask for it, before a resume, too (H26). */
  #begin({ key, id, tool, state, parent, requestedIn }: CallEntry, call: ToolCall): void {
    if (this.#works.has(key)) return
    this.#perform(this.#add(freeze({ ...call, id }), { key, tool, step: state.step, parent, requestedIn: requestedIn }))
  }

  #add(
    call: ToolCall,
    of: Pick<NewCall, 'key' | 'tool' | 'step' | 'parent' | 'executed' | 'requestedIn'>,
    delivered = false,
  ): Work {
    const { calls, caller } = this.#run
    const entry = new CallEntry(calls.table, { ...of, call, caller, isWork: true })
    const work: Work = { entry, delivered, handedOver: false }
    this.#works.set(of.key, work)
    return work
  }

  #perform(work: Work): void {
    const { entry } = work
    const { calls, saver } = this.#run
    const made = makeWork(this.#run, entry).then((message) => {
      if (!isKept(work)) calls.events.workEnded(entry)
      return message
    })
    entry.promise = unheard(made.finally(() => saver.soon()))
  }

  /** Of several of this id the latest. */
  #latest(callId: string): Work | undefined {
    return this.#all().findLast(({ entry }) => entry.id === callId)
  }

  /** In the order in which it was begun. */
  #all(): Work[] {
    return [...this.#works.values()]
  }

  /** Work without a result. */
  #open(): Work[] {
    return this.#all().filter((work) => !resultOf(work))
  }
}
