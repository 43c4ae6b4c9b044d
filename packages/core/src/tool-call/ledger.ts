/** Which calls a run has made: by their id, and by what they ask for. */

import type { DiscardCause } from '../events.ts'
import type { CallStatus } from '../execution/tool-status.ts'
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
  readonly #byId: Map<string, CallEntry> = new Map()
  /** By all their ids. */
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
   * (H25). Never the provider's id, which changes on a retry; but a call that no response asked for has nothing else.
   */
  keyOf(call: ToolCall, step: number, asker: Asker | undefined): string {
    const content = contentOf(call, step)
    const stem = `${this.#runId}/${content}/`
    if (!asker) return stem + call.id
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
    this.#byId.set(entry.call.id, entry)
    this.#byId.set(entry.id, entry)
    if (entry.asked && !entry.rest) this.#enter(entry)
  }

  /** The input of a call that started with the members it needs is whole: it gets its key, and can be joined. */
  complete(entry: CallEntry, call: ToolCall): void {
    entry.key = this.keyOf(call, entry.step, entry.askers[0])
    entry.call = call
    this.#enter(entry)
  }

  #enter(entry: CallEntry): void {
    const content = contentOf(entry.call, entry.step)
    const made = this.#byContent.get(content)
    if (made) made.push(entry)
    else this.#byContent.set(content, [entry])
  }

  get(id: string): CallEntry | undefined {
    return this.#byId.get(id)
  }

  /** Of the calls of steps that are over, unless a later one has the same id. */
  past(id: string): PastCall | undefined {
    return this.#byId.has(id) ? undefined : this.#past.get(id)
  }

  /**
   * The steps before this one are over: little is kept of their calls. Gives which those are. A call that no response asked for stays,
   * with those it made: a checkpoint has it, so that it is never made again.
   */
  letGo(step: number): readonly CallEntry[] {
    const over = new Set(this.#entries.filter((entry) => entry.asked && entry.step < step && isOver(entry)))
    const isPast = (entry: CallEntry): boolean => (entry.maker ? isPast(entry.maker) : over.has(entry))
    const past = this.#entries.filter(isPast)
    if (past.length === 0) return past
    this.#entries = this.#entries.filter((entry) => !isPast(entry))
    for (const { call, step } of past) this.#byContent.delete(contentOf(call, step))
    for (const [id, entry] of this.#byId) {
      if (!isPast(entry)) continue
      this.#byId.delete(id)
      this.#past.set(id, pastCall(entry))
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
    this.#byId.set(id, entry)
  }

  entries(): readonly CallEntry[] {
    return this.#entries
  }

  #made(content: string): readonly CallEntry[] {
    return this.#byContent.get(content) ?? []
  }
}

/** Nothing more comes of it, nor of the calls it made. */
function isOver({ course, stopped, fate, children }: CallEntry): boolean {
  const isDone = course.isAsleep ? fate.discarded !== undefined : course.end !== undefined && !stopped
  return isDone && !fate.isProvisional && children.every(isOver)
}

function pastCall({ id, call, status, discarded, promise }: CallEntry): PastCall {
  return { id, call, status, discarded, promise: discarded ? undefined : promise }
}

function contentOf(call: ToolCall, step: number): string {
  return `${step}/${call.name}/${inputHash(call)}`
}
