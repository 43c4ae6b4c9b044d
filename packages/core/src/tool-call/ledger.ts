/** Which calls a run has made: by their ids, and by what they ask for. */

import type { DiscardCause } from '../events.ts'
import type { CallStatus } from '../execution/tool-status.ts'
import { isOver } from '../machine/call.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { Rest } from '../needs/rest.ts'
import type { Asker } from './askers.ts'
import type { CallEntry } from './call-entry.ts'
import { inputHash, sameCall } from './canonical.ts'

/** What is kept of a call whose step is over: the history has the rest. */
export interface PastCall {
  readonly id: string
  readonly call: ToolCall
  readonly status: CallStatus
  /** Why, if it was discarded. */
  readonly discarded: DiscardCause | undefined
  /** What it gave, or threw, if it was not. */
  readonly promise: Promise<ToolMessage> | undefined
}

export class Ledger {
  readonly #runId: string
  readonly #isSpent: (key: string) => boolean
  #entries: CallEntry[] = []
  /** By all their addresses: see {@link addressOf}. */
  readonly #byAddress: Map<string, CallEntry> = new Map()
  readonly #past: Map<string, PastCall> = new Map()
  /** By step, tool and input: the calls that a response asked for, in the order in which they were made. */
  readonly #byContent: Map<string, CallEntry[]> = new Map()

  /** `isSpent`: whether a call had this key that a checkpoint does not hold any more. */
  constructor(runId: string, isSpent: (key: string) => boolean) {
    this.#runId = runId
    this.#isSpent = isSpent
  }

  /**
   * The key of a call about to be made: run, step, tool, a hash of the input, and the how-manieth such call of its step it is
   * (H25). Never the provider's id, which changes on a retry; but a call that no response asked for has nothing else. The key of a call
   * that another one makes is its maker's key with its id.
   */
  keyOf(call: ToolCall, step: number, asker: Asker | undefined, maker?: CallEntry): string {
    if (maker && !asker) return addressOf(call.id, maker.key)
    const content = contentOf(call, step)
    const stem = `${this.#runId}/${content}/`
    if (!asker) return stem + JSON.stringify(call.id)
    let number = this.#next(content)
    while (this.#isSpent(stem + number)) number++
    return stem + number
  }

  /** Behind the last: a checkpoint does not hold those in front of it that were discarded. */
  #next(content: string): number {
    const last = this.#made(content).at(-1)
    return last ? Number(last.key.slice(last.key.lastIndexOf('/') + 1)) + 1 : 0
  }

  /** Of a call whose input is not whole yet: it is entered by its id (H25). */
  keyOfStart(call: ToolCall): string {
    return `${this.#runId}/${call.id}`
  }

  add(entry: CallEntry): void {
    this.#entries.push(entry)
    for (const id of [entry.call.id, entry.id]) this.#byAddress.set(addressOf(id, ownerOf(entry)), entry)
    if (entry.asked && !entry.rest) this.#enter(entry)
  }

  /** The input of a call that started with the members it needs is whole: it gets its key, and can be joined. */
  complete(entry: CallEntry, call: ToolCall): void {
    const { children } = entry
    for (const child of children) this.#byAddress.delete(addressOf(child.id, ownerOf(child)))
    entry.key = this.keyOf(call, entry.step, entry.askers[0])
    for (const child of children) this.#byAddress.set(addressOf(child.id, ownerOf(child)), child)
    entry.call = call
    this.#enter(entry)
  }

  #enter(entry: CallEntry): void {
    const content = contentOf(entry.call, entry.step)
    const made = this.#byContent.get(content)
    if (made) made.push(entry)
    else this.#byContent.set(content, [entry])
  }

  /** The call of this id that this call made; or, without one, that a response asked for, or a hook or a `wrapModel` made. */
  get(id: string, maker?: CallEntry): CallEntry | undefined {
    return this.#byAddress.get(addressOf(id, maker?.key))
  }

  /** The same of the steps that are over, unless a later call has the same id. */
  past(id: string, maker?: CallEntry): PastCall | undefined {
    const address = addressOf(id, maker?.key)
    return this.#byAddress.has(address) ? undefined : this.#past.get(address)
  }

  /** The latest call of this id, whoever made it. */
  latest(id: string): CallEntry | PastCall | undefined {
    const isIt = (one: CallEntry | PastCall) => one.id === id
    return this.#entries.findLast(isIt) ?? [...this.#past.values()].findLast(isIt)
  }

  /**
   * The steps before this one are over: little is kept of their calls. Gives which those are. A call that no response asked for stays,
   * with those it made: a checkpoint has it, so that it is never made again.
   */
  letGo(step: number): readonly CallEntry[] {
    const over = new Set(this.#entries.filter((entry) => entry.asked && entry.step < step && isPast(entry)))
    const isGone = (entry: CallEntry): boolean => (entry.maker ? isGone(entry.maker) : over.has(entry))
    const past = this.#entries.filter(isGone)
    if (past.length === 0) return past
    this.#entries = this.#entries.filter((entry) => !isGone(entry))
    for (const { call, step } of past) this.#byContent.delete(contentOf(call, step))
    for (const [address, entry] of this.#byAddress) {
      if (!isGone(entry)) continue
      this.#byAddress.delete(address)
      this.#past.set(address, pastCall(entry))
    }
    return past
  }

  /** The calls of the step's earlier attempts that ask for the same and that this attempt has not joined yet (H22). */
  held(call: ToolCall, step: number, asker: Asker): readonly CallEntry[] {
    return this.#made(contentOf(call, step)).filter(
      (entry) => entry.provisional && !entry.askers.includes(asker) && sameCall(entry.call, call),
    )
  }

  /** Whether a call with these members may turn out to be one that {@link held} would give. */
  mayBeHeld(rest: Rest, step: number, asker: Asker): boolean {
    return this.#entries.some(
      (entry) =>
        entry.provisional &&
        entry.step === step &&
        entry.askers.length > 0 &&
        !entry.askers.includes(asker) &&
        rest.isStartOf(entry.call),
    )
  }

  /** What an attempt has made, or has joined, of the calls that were made after this one. */
  since(entry: CallEntry, asker: Asker): readonly CallEntry[] {
    return this.#entries.slice(this.#entries.indexOf(entry) + 1).filter(({ askers }) => askers.includes(asker))
  }

  /** The entry goes on under the id that a later attempt gave its call (O4). */
  rename(entry: CallEntry, id: string): void {
    entry.rename(id)
    this.#byAddress.set(addressOf(id, ownerOf(entry)), entry)
  }

  entries(): readonly CallEntry[] {
    return this.#entries
  }

  #made(content: string): readonly CallEntry[] {
    return this.#byContent.get(content) ?? []
  }
}

/** Nothing more comes of it, nor of the calls it made. */
function isPast({ state, children }: CallEntry): boolean {
  return isOver(state) && children.every(isPast)
}

function pastCall({ id, call, status, discarded, promise }: CallEntry): PastCall {
  return { id, call, status, discarded, promise: discarded ? undefined : promise }
}

/** Where a call is found: by its id, which belongs to the call with this key if that made it. Quoted, it is no part of a key. */
function addressOf(id: string, ownerKey: string | undefined): string {
  return ownerKey === undefined ? id : `${ownerKey}/${JSON.stringify(id)}`
}

/** What a response asks for is the response's, whoever makes it. */
function ownerOf({ asked, makerKey }: CallEntry): string | undefined {
  return asked ? undefined : makerKey
}

function contentOf(call: ToolCall, step: number): string {
  return `${step}/${call.name}/${inputHash(call)}`
}
