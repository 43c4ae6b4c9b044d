/** Stores the calls of a run: their state, and their handles by number and by id. */

import { type Calls, isPast, noCalls } from '../machine/calls.ts'
import { callForgotten, callStopped } from '../machine/decide-calls.ts'
import { inputKey } from '../vocabulary/canonical.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { ToolCancelledError } from '../vocabulary/tool-errors.ts'
import type { CallEntry, CallHome } from './call-entry.ts'
import type { CallStatus } from './call-status.ts'
import { Slots } from './slots.ts'

/** What is kept of a call from an earlier step. The history contains the rest. */
export interface PastCall {
  readonly id: string
  /** As it was first requested. */
  readonly call: ToolCall
  readonly status: CallStatus
  /** Why it was discarded, if it was. */
  readonly discarded: DiscardCause | undefined
  /** Its result or error, unless it was discarded. */
  readonly promise: Promise<ToolMessage> | undefined
}

/** Calls with the same step, tool and input. */
interface Alike {
  /** The last part of the next key. */
  next: number
  /** The content number of all of them. */
  readonly content: number
}

export class CallTable implements CallHome {
  readonly state: Calls = noCalls()
  readonly slots: Slots = new Slots(this.state, (number) => this.#entries.get(number))
  readonly #entries: Map<number, CallEntry> = new Map()
  /** Calls by {@link scopedId}. Each call has an entry for every id that it has had. */
  readonly #byScopedId: Map<string, CallEntry> = new Map()
  readonly #past: Map<string, PastCall> = new Map()
  readonly #alike: Map<string, Alike> = new Map()
  #contents = 0
  readonly #runId: string
  /** Whether an undo of a call with this key had begun before the resume. */
  readonly isUndone: (key: string) => boolean
  /** Keys of calls that were discarded before the resume. */
  #spent: readonly string[] = []

  constructor(runId = '', isUndone: (key: string) => boolean = () => false) {
    this.#runId = runId
    this.isUndone = isUndone
  }

  /** Called when the run continues from a checkpoint with these {@link spentKeys}. */
  restoreSpentKeys(keys: readonly string[] = []): void {
    this.#spent = keys
  }

  /** Returns the keys of calls of a step that were discarded, which no other call may use. A call whose fate a resume decides keeps its key. */
  spentKeys(step: number | undefined): readonly string[] {
    const spent = this.entries().filter(({ state }) => state.fate === 'discarded' && !state.kept && state.isRequested)
    const keys = new Set([...this.#spent, ...spent.map(({ key }) => key)])
    return [...keys].filter((key) => key.startsWith(`${this.#runId}/${step}/`))
  }

  /** Adds a call. */
  put(entry: CallEntry): void {
    this.#entries.set(entry.number, entry)
  }

  /** Makes a call findable by its id. */
  add(entry: CallEntry): void {
    for (const id of [entry.call.id, entry.id]) this.#byScopedId.set(idIn(entry, id), entry)
  }

  /**
   * Returns the key of a call that is about to be made: run, step, tool, {@link inputKey}, and its number among equal calls of its step. It does not
   * contain the provider's id, which changes on a retry, except for a call that no response requested. The key of an inner call is its maker's
   * key with its id.
   */
  keyOf(call: ToolCall, step: number, isRequested: boolean, maker?: CallEntry): string {
    if (!isRequested) return scopedId(call.id, maker?.key ?? this.#stemOf(step, call))
    const stem = this.#stemOf(step, call)
    // Numbers continue after the last one, because a checkpoint lacks earlier calls that were discarded.
    let number = this.#alike.get(stem)?.next ?? 0
    while (this.isUndone(`${stem}/${number}`) || this.#spent.includes(`${stem}/${number}`)) number++
    return `${stem}/${number}`
  }

  /** The begin of the keys of calls of a step with the same tool and input. */
  #stemOf(step: number, call: ToolCall): string {
    return `${this.#runId}/${step}/${call.name}/${inputKey(call)}`
  }

  /** The key of a call whose input is not complete yet. It is based on its id. */
  keyOfStart(call: ToolCall): string {
    return `${this.#runId}/${call.id}`
  }

  /** Called when the input of a call that began with its needed members is complete. The call gets its key, and can be joined. */
  complete(entry: CallEntry, call: ToolCall): void {
    const children = this.allOf(entry.state.children)
    for (const child of children) this.#byScopedId.delete(idIn(child, child.id))
    entry.key = this.keyOf(call, entry.state.step, true)
    for (const child of children) this.#byScopedId.set(idIn(child, child.id), child)
    entry.call = call
    entry.note({ content: this.contentFor(entry.state.step, call, entry.key) })
  }

  /** Returns the content number of a call of this step, if a call with equal content exists. */
  contentOf(step: number, call: ToolCall): number | undefined {
    return this.#alike.get(this.#stemOf(step, call))?.content
  }

  /** Returns the content number of a call that has this key now: a new number if no equal call exists. */
  contentFor(step: number, call: ToolCall, key: string): number {
    const stem = this.#stemOf(step, call)
    const alike = this.#alike.get(stem) ?? { next: 0, content: ++this.#contents }
    this.#alike.set(stem, alike)
    // Calls of a checkpoint come in the order in which they were made, which may differ from the order of their keys.
    alike.next = Math.max(alike.next, Number(key.slice(key.lastIndexOf('/') + 1)) + 1)
    return alike.content
  }

  of(number: number): CallEntry | undefined {
    return this.#entries.get(number)
  }

  /** Finds a call by any id that it has had: an inner call of this maker or, without one, a call that a response, a hook or a `wrapModel` requested. */
  get(id: string, maker?: CallEntry): CallEntry | undefined {
    return this.#byScopedId.get(scopedId(id, maker?.key))
  }

  /** Does the same for earlier steps, unless a later call has the same id. */
  past(id: string, maker?: CallEntry): PastCall | undefined {
    const scoped = scopedId(id, maker?.key)
    return this.#byScopedId.has(scoped) ? undefined : this.#past.get(scoped)
  }

  /** The latest call with this id, with any maker. */
  latest(id: string): CallEntry | PastCall | undefined {
    return [...this.#past.values(), ...this.entries()].findLast((one) => one.id === id)
  }

  /** The calls in the order in which they were made, without the work of background calls. */
  entries(): CallEntry[] {
    return [...this.#entries.values()].filter(({ state }) => !state.work)
  }

  /** The work of background calls, in the order in which it began. */
  works(): CallEntry[] {
    return [...this.#entries.values()].filter(({ state }) => state.work)
  }

  /** The calls with these numbers that the table has. */
  allOf(numbers: readonly number[]): CallEntry[] {
    return numbers.flatMap((number) => this.#entries.get(number) ?? [])
  }

  /** Records for all these calls and their inner calls that they stop, before any is stopped, because user code may react to a stop. */
  stop(entries: readonly CallEntry[], reason: unknown, grace: number): void {
    const why = reason instanceof ToolCancelledError ? 'cancelled' : 'stopped'
    const known = entries.filter(({ number }) => this.#entries.has(number))
    const stopped = known.flatMap(({ number }) => callStopped(this.state, number, why))
    for (const entry of this.allOf(stopped)) entry.stop(reason, grace)
  }

  /**
   * Forgets the calls of earlier steps, except for a few facts. Returns the forgotten calls. A call that no response requested stays, with
   * its inner calls: a checkpoint contains it, so that it is never made again.
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
    const { id, call, status, discarded, promise, state } = entry
    this.#alike.delete(this.#stemOf(state.step, call))
    const past = { id, call, status, discarded, promise: discarded ? undefined : promise }
    for (const one of [call.id, id]) {
      const scoped = idIn(entry, one)
      if (this.#byScopedId.get(scoped) !== entry) continue
      this.#byScopedId.delete(scoped)
      this.#past.set(scoped, past)
    }
  }

  /** Called when a later attempt gave a call a new id. */
  renamed(entry: CallEntry): void {
    this.#byScopedId.set(idIn(entry, entry.id), entry)
  }
}

/** The id of a call inside its maker, whose key is `ownerKey`; without a maker, the id itself. The quotes distinguish it from keys. */
function scopedId(id: string, ownerKey: string | undefined): string {
  return ownerKey === undefined ? id : `${ownerKey}/${JSON.stringify(id)}`
}

/** The id inside the maker of a call. A call that a response requests belongs to the response, even if a tool or wrap makes it. */
function idIn({ state, makerKey }: CallEntry, id: string): string {
  return scopedId(id, state.isRequested ? undefined : makerKey)
}
