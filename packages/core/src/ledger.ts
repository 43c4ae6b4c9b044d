/** Which calls a run has made: by their id, and by what they ask for. */

import type { Asker, CallEntry } from './call-entry.ts'
import { canonical, hash, sameCall } from './canonical.ts'
import type { ToolCall } from './message.ts'

export class Ledger {
  readonly #runId: string
  readonly #byId: Map<string, CallEntry> = new Map()
  readonly #byKey: Map<string, CallEntry> = new Map()
  /** Of each attempt and content: the ids that asked for it, in order. */
  readonly #claims: Map<string, string[]> = new Map()

  constructor(runId: string) {
    this.#runId = runId
  }

  /**
   * The key of a call: run, step, tool, a hash of the input, and the how-manieth such call of its response it is (H25). Never
   * the provider's id, which changes on a retry; but a call that no response asked for has nothing else.
   */
  keyOf(call: ToolCall, step: number, asker: Asker | undefined): string {
    const content = `${this.#runId}/${step}/${call.name}/${hash(canonical(call.input))}`
    if (!asker) return `${content}/${call.id}`
    const claim = `${asker.attempt}/${content}`
    const ids = this.#claims.get(claim) ?? []
    if (ids.length === 0) this.#claims.set(claim, ids)
    if (!ids.includes(call.id)) ids.push(call.id)
    return `${content}/${ids.indexOf(call.id)}`
  }

  add(entry: CallEntry): void {
    this.#byId.set(entry.id, entry)
    this.#byKey.set(entry.key, entry)
  }

  get(id: string): CallEntry | undefined {
    return this.#byId.get(id)
  }

  /** A call of an earlier attempt of the same step that asks for the same and waits to be claimed. */
  held(call: ToolCall, key: string): CallEntry | undefined {
    const entry = this.#byKey.get(key)
    return entry?.provisional && !entry.discarded && sameCall(entry.call, call) ? entry : undefined
  }

  /** The entry goes on under the id that a later attempt gave its call (O4). */
  rename(entry: CallEntry, id: string): void {
    entry.id = id
    this.#byId.set(id, entry)
  }

  entries(): Iterable<CallEntry> {
    return this.#byKey.values()
  }
}
