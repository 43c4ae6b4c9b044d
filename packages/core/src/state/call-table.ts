/** Keeps the calls of a run: their state, and their handles by number and by id. */

import { type Calls, isPast, noCalls } from '../machine/calls.ts'
import { withContent } from '../machine/decide-call.ts'
import { callForgotten, callStopped } from '../machine/decide-calls.ts'
import { inputHash, sameCall } from '../vocabulary/canonical.ts'
import type { RunStop } from '../vocabulary/errors.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { ToolCancelledError } from '../vocabulary/tool-errors.ts'
import type { CallEntry, CallHome } from './call-entry.ts'
import type { CallStatus } from './call-status.ts'
import { Turns } from './turns.ts'

/** What is kept of a call whose step is over: the history has the rest. */
export interface PastCall {
  readonly id: string
  /** The id that it was requested with first. */
  readonly requestedAs: string
  readonly content: string
  readonly status: CallStatus
  /** Why, if it was discarded. */
  readonly discarded: DiscardCause | undefined
  /** What it gave, or threw, if it was not. */
  readonly promise: Promise<ToolMessage> | undefined
}

/** Calls of one step, tool and hash of the input: those with equal inputs have the same content. */
interface Alike {
  /** The number that the key of the next one ends with. */
  next: number
  readonly contents: { readonly call: ToolCall; readonly content: number }[]
}

export class CallTable implements CallHome {
  readonly state: Calls = noCalls()
  readonly turns: Turns = new Turns(this.state, (number) => this.#entries.get(number))
  readonly #entries: Map<number, CallEntry> = new Map()
  /** By their {@link scopedId}: each call has one for every id that it has had. */
  readonly #byScopedId: Map<string, CallEntry> = new Map()
  readonly #past: Map<string, PastCall> = new Map()
  readonly #alike: Map<string, Alike> = new Map()
  #contents = 0
  /** What stops a run, or a call of it, by the number that the state has of it. */
  readonly #stops: RunStop[] = []
  readonly #runId: string
  /** Whether a call had this key that was to be undone in an earlier process. */
  readonly isUndone: (key: string) => boolean
  /** Of calls of a step that were discarded in earlier processes. */
  #spent: { readonly step: number | undefined; readonly keys: readonly string[] } = { step: undefined, keys: [] }

  constructor(runId = '', isUndone: (key: string) => boolean = () => false) {
    this.#runId = runId
    this.isUndone = isUndone
  }

  /** The step at work goes on from a checkpoint that has these {@link spentKeys}. */
  restoreSpentKeys(step: number | undefined, keys: readonly string[] = []): void {
    this.#spent = { step, keys }
  }

  /** Keys of calls of a step that were discarded. One that a resume decides on keeps its key. */
  spentKeys(step: number | undefined): readonly string[] {
    const isSpent = ({ state }: CallEntry) =>
      state.fate === 'discarded' && !state.kept && state.isRequested && state.step === step
    const before = this.#spent.step === step ? this.#spent.keys : []
    return [...new Set([...before, ...this.entries().flatMap((entry) => (isSpent(entry) ? [entry.key] : []))])]
  }

  /** A call is made. */
  put(entry: CallEntry): void {
    this.#entries.set(entry.number, entry)
  }

  /** A call can be found by its id from now on. */
  add(entry: CallEntry): void {
    for (const id of [entry.call.id, entry.id]) this.#byScopedId.set(scopedId(id, ownerOf(entry)), entry)
  }

  /**
   * The key of a call about to be made: run, step, tool, a hash of the input, and the how-manieth such call of its step it is.
   * Never the provider's id, which changes on a retry; but a call that no response requested has nothing else. The key of a call
   * that another one makes is its maker's key with its id.
   */
  keyOf(call: ToolCall, step: number, isRequested: boolean, maker?: CallEntry): string {
    if (maker && !isRequested) return scopedId(call.id, maker.key)
    const alike = alikeOf(step, call)
    const stem = `${this.#runId}/${alike}/`
    if (!isRequested) return stem + JSON.stringify(call.id)
    // Behind the last: a checkpoint does not hold those in front of it that were discarded.
    let number = this.#alike.get(alike)?.next ?? 0
    while (this.isUndone(stem + number) || this.#spent.keys.includes(stem + number)) number++
    return stem + number
  }

  /** Of a call whose input is not whole yet: it is entered by its id. */
  keyOfStart(call: ToolCall): string {
    return `${this.#runId}/${call.id}`
  }

  /** The input of a call that began with the members its tool needs is whole: it gets its key, and can be joined. */
  complete(entry: CallEntry, call: ToolCall): void {
    const children = this.childrenOf(entry)
    for (const child of children) this.#byScopedId.delete(scopedId(child.id, ownerOf(child)))
    entry.key = this.keyOf(call, entry.state.step, true)
    for (const child of children) this.#byScopedId.set(scopedId(child.id, ownerOf(child)), child)
    entry.call = call
    entry.decide(withContent(entry.state, this.contentFor(entry.state.step, call, entry.key)))
  }

  /** The content of a call of this step, if any call has the same. */
  contentOf(step: number, call: ToolCall): number | undefined {
    if (this.#alike.size === 0) return undefined
    return this.#alike.get(alikeOf(step, call))?.contents.find((one) => sameCall(one.call, call))?.content
  }

  /** The content of a call that has this key now: a new one if no call has the same. */
  contentFor(step: number, call: ToolCall, key: string): number {
    const stem = alikeOf(step, call)
    const alike = this.#alike.get(stem) ?? { next: 0, contents: [] }
    this.#alike.set(stem, alike)
    // Calls of a checkpoint come in the order in which they were made, which need not be that of their keys.
    alike.next = Math.max(alike.next, Number(key.slice(key.lastIndexOf('/') + 1)) + 1)
    let same = alike.contents.find((one) => sameCall(one.call, call))
    if (!same) alike.contents.push((same = { call, content: ++this.#contents }))
    return same.content
  }

  /** The number of a stop that some state is to have. */
  numberOf(stop: RunStop): number {
    return this.knownNumberOf(stop) ?? this.#stops.push(stop) - 1
  }

  /** The number of a stop that some state has. */
  knownNumberOf(stop: RunStop): number | undefined {
    const place = this.#stops.indexOf(stop)
    return place < 0 ? undefined : place
  }

  stopOf(number: number | undefined): RunStop | undefined {
    return number === undefined ? undefined : this.#stops[number]
  }

  of(number: number): CallEntry | undefined {
    return this.#entries.get(number)
  }

  /** The call of this id that this call made; or, without one, that a response requested, or a hook or a `wrapModel` made. */
  get(id: string, maker?: CallEntry): CallEntry | undefined {
    return this.#byScopedId.get(scopedId(id, maker?.key))
  }

  /** The same of the steps that are over, unless a later call has the same id. */
  past(id: string, maker?: CallEntry): PastCall | undefined {
    const scoped = scopedId(id, maker?.key)
    return this.#byScopedId.has(scoped) ? undefined : this.#past.get(scoped)
  }

  /** The latest call of this id, whoever made it. */
  latest(id: string): CallEntry | PastCall | undefined {
    const isIt = (one: CallEntry | PastCall) => one.id === id
    return this.entries().findLast(isIt) ?? [...this.#past.values()].findLast(isIt)
  }

  /** In the order in which they were made, without the work behind calls. */
  entries(): CallEntry[] {
    return [...this.#entries.values()].filter(({ state }) => !state.work)
  }

  /** The work behind background calls, in the order in which it began. */
  works(): CallEntry[] {
    return [...this.#entries.values()].filter(({ state }) => state.work)
  }

  childrenOf({ state }: CallEntry): CallEntry[] {
    return state.children.flatMap((child) => this.#entries.get(child) ?? [])
  }

  /** That these calls stop, and those they made, is decided for all of them before any is told: who is told may do what it likes. */
  stop(entries: readonly CallEntry[], reason: unknown, grace: number): void {
    const why = reason instanceof ToolCancelledError ? 'cancelled' : 'stopped'
    const known = entries.filter(({ number }) => this.#entries.has(number))
    const stopped = known.flatMap(({ number }) => callStopped(this.state, number, why))
    for (const entry of stopped.flatMap((number) => this.of(number) ?? [])) entry.stop(reason, grace)
  }

  /**
   * The steps before this one are over: little is kept of their calls. Gives which those are. A call that no response requested stays,
   * with those it made: a checkpoint has it, so that it is never made again.
   */
  letGo(step: number): readonly CallEntry[] {
    const over: CallEntry[] = []
    for (const entry of this.#entries.values()) {
      const { state, maker } = entry
      const isOver = maker ? over.includes(maker) : state.isRequested && state.step < step && isPast(this.state, state)
      if (isOver) over.push(entry)
    }
    for (const entry of over) this.#forget(entry)
    return over
  }

  #forget(entry: CallEntry): void {
    entry.leave()
    callForgotten(this.state, entry.number)
    this.#entries.delete(entry.number)
    this.#alike.delete(alikeOf(entry.state.step, entry.call))
    const past = pastCall(entry)
    for (const id of [entry.call.id, entry.id]) {
      const scoped = scopedId(id, ownerOf(entry))
      if (this.#byScopedId.get(scoped) !== entry) continue
      this.#byScopedId.delete(scoped)
      this.#past.set(scoped, past)
    }
  }

  /** The entry goes on under the id that a later attempt gave its call. */
  renamed(entry: CallEntry): void {
    this.#byScopedId.set(scopedId(entry.id, ownerOf(entry)), entry)
  }
}

function pastCall({ id, call, status, discarded, promise }: CallEntry): PastCall {
  return {
    id,
    requestedAs: call.id,
    content: contentOf(call),
    status,
    discarded,
    promise: discarded ? undefined : promise,
  }
}

/** Whether a past call has the same tool and input as this one. */
export function isSameCall({ content }: PastCall, call: ToolCall): boolean {
  return content === contentOf(call)
}

/** A short text that is equal only for calls with the same tool and input. */
function contentOf(call: ToolCall): string {
  return JSON.stringify([call.name, call.inputError, inputHash(call)])
}

/** The id of a call within the call that makes it, whose key is `ownerKey`; without one, the id itself. The quotes keep it apart from keys. */
function scopedId(id: string, ownerKey: string | undefined): string {
  return ownerKey === undefined ? id : `${ownerKey}/${JSON.stringify(id)}`
}

/** The key of the call that makes this one. A call that a response requests belongs to the response, whoever makes it. */
function ownerOf({ state, makerKey }: CallEntry): string | undefined {
  return state.isRequested ? undefined : makerKey
}

function alikeOf(step: number, call: ToolCall): string {
  return `${step}/${call.name}/${inputHash(call)}`
}
