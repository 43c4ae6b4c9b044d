/** One response of the host's model while it streams. It assembles the calls and passes complete ones to the rules. */

import { argumentsText, DEFAULT_INPUT_LIMITS, type ToolCall } from '@meanwhile/core'
import { StreamedResponse as StreamedMessage } from '@meanwhile/core/calls'
import type { StreamedResponse as Rules } from '../response.ts'
import type { CallLabel } from './host-calls.ts'
import { sameValue } from './same-value.ts'

/** A call as received so far. */
interface HeardCall {
  readonly hostId: string | undefined
  text: string
  /** The whole arguments, as the provider repeated them. */
  restated?: string
}

const NO_IDS: ReadonlySet<string> = new Set()

export class Attempt {
  readonly #rules: Rules
  readonly #message = new StreamedMessage({ takenIds: NO_IDS, inputLimits: DEFAULT_INPUT_LIMITS })
  readonly #heard: Map<CallLabel, HeardCall> = new Map()
  /** By the unique id used here: the host's ids may be repeated. */
  readonly #byId: Map<string, HeardCall> = new Map()
  readonly #sealed: ToolCall[] = []

  constructor(rules: Rules) {
    this.#rules = rules
  }

  begin(label: CallLabel, hostId: string | undefined, name: string): void {
    const heard: HeardCall = { hostId, text: '' }
    this.#heard.set(label, heard)
    this.#message.call(label, { id: hostId, name })
    this.#drain(heard)
  }

  delta(label: CallLabel, text: string): void {
    const heard = this.#heard.get(label)
    if (!heard || text === '') return
    heard.text += text
    this.#message.call(label, { delta: text })
    this.#drain(heard)
  }

  seal(label: CallLabel, text?: string): void {
    const heard = this.#heard.get(label)
    if (!heard) return
    if (text) heard.text = text
    this.#message.seal(label, text)
    this.#drain(heard)
  }

  restate(label: CallLabel, text: string): void {
    const heard = this.#heard.get(label)
    if (heard) heard.restated = text
  }

  /** The response has ended. Seals all calls that are not sealed yet. */
  end(): void {
    for (const [label, { restated }] of this.#heard) if (restated) this.seal(label, restated)
    this.#message.finish('tool-calls')
    this.#message.end()
    this.#drain()
  }

  /** The id the host will use for a call. */
  hostIdOf(callId: string): string | undefined {
    return this.#byId.get(callId)?.hostId
  }

  /** The arguments as the model wrote them. */
  textOf({ id, input }: ToolCall): string {
    const { text } = this.#byId.get(id) ?? {}
    return text !== undefined && means(text, input) ? text : argumentsText(input)
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

  #drain(begun?: HeardCall): void {
    for (let event = this.#message.next(); event; event = this.#message.next()) {
      if (event.type === 'tool-input-start') {
        if (begun) this.#byId.set(event.id, begun)
        this.#rules.named(event.id, event.name)
      } else if (event.type === 'tool-input-closed') this.#rules.evidence(event.call, 'closed')
      else if (event.type === 'tool-call') {
        this.#sealed.push(event.call)
        this.#rules.evidence(event.call, 'sealed')
      }
    }
  }
}

function means(text: string, input: unknown): boolean {
  try {
    return sameValue(JSON.parse(text), input)
  } catch {
    return false
  }
}
