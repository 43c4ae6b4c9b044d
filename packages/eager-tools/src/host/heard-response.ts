/** One response of the host's model while it streams. It passes calls whose arguments are complete to the rules. */

import { argumentsText } from '@meanwhile/assemble'
import type { ToolCall } from '@meanwhile/core'
import type { StreamedResponse as Rules } from '../response.ts'
import { HeardCall } from './heard-call.ts'

/** Identifies a call of the response. Provider ids cannot be used: they may be repeated or missing. */
export type CallLabel = number

export class HeardResponse {
  readonly #rules: Rules
  readonly #heard: Map<CallLabel, HeardCall> = new Map()
  readonly #byId: Map<string, HeardCall> = new Map()
  readonly #sealed: ToolCall[] = []

  constructor(rules: Rules) {
    this.#rules = rules
  }

  begin(label: CallLabel, hostId: string | undefined, name: string): void {
    let id = hostId || `call_${label}`
    while (this.#byId.has(id)) id += `_${label}`
    const heard = new HeardCall(id, hostId, name)
    this.#heard.set(label, heard)
    this.#byId.set(id, heard)
    this.#rules.named(id, name)
  }

  delta(label: CallLabel, text: string): void {
    const call = this.#heard.get(label)?.add(text)
    if (call) this.#rules.evidence(call, 'closed')
  }

  seal(label: CallLabel, text?: string): void {
    const heard = this.#heard.get(label)
    if (!heard || heard.isSealed) return
    const call = heard.seal(text)
    this.#sealed.push(call)
    this.#rules.evidence(call, 'sealed')
  }

  restate(label: CallLabel, text: string): void {
    const heard = this.#heard.get(label)
    if (heard) heard.restated = text
  }

  /** The response has ended. Seals all calls that are not sealed yet. */
  end(): void {
    for (const [label, { restated }] of this.#heard) this.seal(label, restated)
  }

  /** The id the host will use for a call. */
  hostIdOf(callId: string): string | undefined {
    return this.#byId.get(callId)?.hostId
  }

  /** The arguments of a call as the model wrote them. */
  textOf({ id, input }: ToolCall): string {
    return this.#byId.get(id)?.textOf(input) ?? argumentsText(input)
  }

  /** How many calls have this host id. */
  countOf(hostId: string | undefined): number {
    let count = 0
    for (const heard of this.#heard.values()) if (heard.hostId === hostId) count++
    return count
  }

  /** The sealed calls, in the order in which they were sealed. */
  get calls(): readonly ToolCall[] {
    return this.#sealed
  }
}
