/** Work that goes on when its call has been answered: what becomes of it, and how the model hears of it (I15 to I18). */

import { resumeCall, settleAs } from '../checkpoint/restore-calls.ts'
import { unheard } from '../flow/unheard.ts'
import { triesOf } from '../machine/call.ts'
import type { ContentPart, ToolCall, ToolMessage, UserMessage } from '../message.ts'
import type { BackgroundHandle } from '../result.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import type { Resumed, SavedWork } from '../saved-run.ts'
import type { Tool } from '../tool.ts'
import { findTool } from './aliases.ts'
import { makeWork } from './background-work.ts'
import { type Beginning, CallEntry } from './call-entry.ts'

/** The origin of the messages that bring results of background calls (B19). */
export const BACKGROUND_ORIGIN = 'background'

interface Work {
  /** Its promise gives its message; it rejects only where the work stays open for a resume. */
  readonly entry: CallEntry
  /** The model has read its result. */
  delivered: boolean
  /** Its run no longer stops it. */
  handedOver: boolean
}

export class Background {
  readonly #run: RunState
  /** By the keys of their calls. */
  readonly #works: Map<string, Work> = new Map()
  #wake: () => void = () => undefined

  constructor(run: RunState) {
    this.#run = run
  }

  /** Starts the work of a call whose input was checked; once, however often its wraps ask for it, before a resume, too (H26). */
  start({ key, id, tool, state, parent, askedIn }: CallEntry, call: ToolCall): void {
    if (this.#works.has(key)) return
    const work = this.#add(freeze({ ...call, id }), { key, tool, step: state.step, parent, askedIn })
    this.#begin(work)
  }

  /** The work of a call of this id: of several the latest. */
  get(callId: string): CallEntry | undefined {
    return this.#latest(callId)?.entry
  }

  /** The work of this call. */
  of({ key }: CallEntry): CallEntry | undefined {
    return this.#works.get(key)?.entry
  }

  /** The result of a call, if there is one; the model has read it then. */
  read(callId: string): ToolMessage | undefined {
    const work = this.#latest(callId)
    const message = work && resultOf(work)
    if (message) work.delivered = true
    return message
  }

  /** Whether there are results the model has not read. */
  get hasNews(): boolean {
    return this.#all().some(isNews)
  }

  /** The results the model has not read, as messages of their own: their calls were answered when they began. */
  deliver(): UserMessage[] {
    return this.#all().flatMap((work) => {
      const message = resultOf(work)
      if (!message || work.delivered) return []
      work.delivered = true
      return [told(message)]
    })
  }

  /** An answer is offered: resolves when nothing it has to wait for is at work. Throws if the run is to stop before that. */
  async beforeEnd(): Promise<void> {
    const { halt, signal } = this.#run
    const awaited = () => this.#open().filter(({ entry }) => atEndOf(entry.tool) === 'wait')
    const wake = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    while (awaited().length > 0 && !halt.state.mode && !signal.aborted) {
      await Promise.race([wake, ...awaited().map(({ entry }) => entry.promise)])
    }
    signal.throwIfAborted()
    stopIfAsked(this.#open().filter(({ entry }) => atEndOf(entry.tool) !== 'cancel'))
    // Nobody has accepted the answer: the run stops with the work at work, and its resume offers it again.
    if (awaited().length > 0) halt.stopAt('after-tools')
  }

  /** Throws what stops the run if an agent that works in the background asks: the run stops at its next safe point. */
  stopIfAsked(): void {
    stopIfAsked(this.#open())
  }

  /** Whether its run has to stop some of it. */
  get isOpen(): boolean {
    return this.#works.size > 0 && this.#open().some(({ handedOver }) => !handedOver)
  }

  /** Those whose result is not there yet. */
  openEntries(): readonly CallEntry[] {
    return this.#open().map(({ entry }) => entry)
  }

  /** The run is to stop: nobody waits for work any more. */
  wake(): void {
    this.#wake()
  }

  /** The run has its answer: open work that its tool detaches goes on, and what the model has not read is the caller's. */
  handOver(): BackgroundHandle[] {
    for (const work of this.#open()) {
      if (atEndOf(work.entry.tool) === 'detach') work.handedOver = true
      else if (isKept(work)) this.#run.calls.events.workEnded(work.entry)
    }
    const kept = this.#all().filter((work) => work.handedOver || isNews(work))
    return kept.map(({ entry }) => handleOf(entry.id, entry.call.name, entry.promise))
  }

  /** Whether this is work of a call that goes on beyond its run. */
  hasHandedOver(entry: CallEntry): boolean {
    const work = this.#works.get(entry.key)
    return work?.entry === entry && work.handedOver
  }

  abort(reason: unknown): void {
    for (const { entry, handedOver } of this.#open()) if (!handedOver) entry.abort(reason, this.#run.config.grace)
  }

  /** Resolves when nothing that the run has to do with is at work. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#open().flatMap(({ entry, handedOver }) => (handedOver ? [] : [entry.promise])))
  }

  /** `isLast`: what has not begun will not begin any more. */
  save(isLast: boolean): SavedWork[] {
    return this.#all().map((work) => {
      const { key, call, state, outcomes } = work.entry
      const { attempts, ...entered } = triesOf(state, isLast)
      const message = resultOf(work)
      const saved = { key, call, step: state.step, attempts, delivered: work.delivered }
      // What an agent has done is in its own checkpoint.
      if (!message && outcomes.hasRuns) return { ...saved, ...outcomes.saveRuns() }
      return {
        ...saved,
        ...entered,
        ...(message ? { message } : outcomes.save(state.known)),
      }
    })
  }

  /**
   * Work that was cut off is begun again, or may have happened, like any call (L20, L21). That of an agent goes on from the agent's
   * checkpoint, or stays open as long as its questions have no answer. Gives the work that is not over.
   */
  restore(resumed: Resumed): readonly CallEntry[] {
    const { setup, context } = this.#run
    const works = (resumed.checkpoint.background ?? []).map((saved) => {
      const { key, call, step, message, delivered } = saved
      const tool = findTool(setup.tools, call.name)
      const work = this.#add(freeze(call), { key, tool, step, parent: context, executed: saved })
      work.delivered = delivered
      if (message) settleAs(work.entry, message)
      return work
    })
    const open = works.filter(({ entry }) => !entry.settled)
    for (const work of open) {
      resumeCall(this.#run, work.entry, resumed)
      if (!work.entry.settled) this.#begin(work)
      else if (work.entry.message) this.#run.calls.events.workEnded(work.entry)
    }
    return open.map(({ entry }) => entry)
  }

  #add(call: ToolCall, of: Pick<Beginning, 'key' | 'tool' | 'step' | 'parent' | 'executed' | 'askedIn'>): Work {
    const { calls, caller } = this.#run
    const entry = new CallEntry(calls.table, { ...of, call, caller, isWork: true })
    const work: Work = { entry, delivered: false, handedOver: false }
    this.#works.set(of.key, work)
    return work
  }

  #begin(work: Work): void {
    const { entry } = work
    const made = makeWork(this.#run, entry).then((message) => {
      if (!isKept(work)) this.#run.calls.events.workEnded(entry)
      return message
    })
    entry.promise = unheard(made.finally(() => this.#run.saver.soon()))
  }

  #latest(callId: string): Work | undefined {
    return this.#all().findLast(({ entry }) => entry.id === callId)
  }

  #all(): Work[] {
    return [...this.#works.values()]
  }

  #open(): Work[] {
    return this.#all().filter((work) => !resultOf(work))
  }
}

function stopIfAsked(works: readonly Work[]): void {
  for (const { entry } of works) if (entry.stopped) throw entry.stopped
}

/** Not what only says that the end of its run cut it off: a resume goes on with it. */
function resultOf({ entry: { state, message } }: Work): ToolMessage | undefined {
  return state.course === 'cut off' ? undefined : message
}

/** Its turn had not come when its run was told to stop: a resume begins it, if the run does stop. */
function isKept({ entry: { state } }: Work): boolean {
  return state.course === 'cut off' && !state.aborted
}

function isNews(work: Work): boolean {
  return resultOf(work) !== undefined && !work.delivered
}

function atEndOf(tool: Tool | undefined): 'wait' | 'cancel' | 'detach' {
  return (typeof tool?.background === 'object' && tool.background.atEnd) || 'wait'
}

function told({ callId, name, content, isError }: ToolMessage): UserMessage {
  const what = isError ? 'failed' : 'has come to its result'
  const header: ContentPart = { type: 'text', text: `The background call ${callId} of ${name} ${what}:` }
  return { role: 'user', origin: BACKGROUND_ORIGIN, content: [header, ...content] }
}

/** JSON without its promise (B2). */
function handleOf(callId: string, name: string, result: Promise<ToolMessage>): BackgroundHandle {
  return Object.defineProperty({ callId, name, result }, 'toJSON', { value: () => ({ callId, name }) })
}
