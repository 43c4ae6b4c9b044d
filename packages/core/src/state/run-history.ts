/** Holds the history of a run. Only the loop appends to it; hooks may replace it. */

import { HistoryError } from '../vocabulary/errors.ts'
import type { AgentEventBody } from '../vocabulary/events.ts'
import { ReadOnlySet } from '../vocabulary/frozen.ts'
import { callIds, freeze } from '../vocabulary/history.ts'
import { type AssistantMessage, callsOf, type Message, type ToolMessage } from '../vocabulary/message.ts'
import type { AgentState } from '../vocabulary/middleware.ts'

export class RunHistory {
  /** Ids that calls have or may get. No other call may have them. */
  readonly takenIds: Set<string> = new Set()
  /** The same set, read-only, for models and the wraps around them. */
  readonly ids: ReadonlySet<string> = new ReadOnlySet(() => this.takenIds)
  /** The ids of calls that responses have requested, also of those that failed. */
  readonly #requestedIds: Set<string> = new Set()
  /** The ids of calls that are or were in the history. */
  readonly #used: Set<string> = new Set()
  #messages: readonly Message[] = []
  /** Messages that are not in the list yet. They are added together, because each addition copies the list. */
  #appended: Message[] = []
  /** The list that {@link messages} returned last. The current list begins with all of it. */
  #grownFrom: readonly Message[] | undefined
  #pairs: Pairs = new Pairs()
  /** Receives an event for each new message. */
  readonly #events: { push(event: AgentEventBody): void }

  constructor(events: { push(event: AgentEventBody): void }) {
    this.#events = events
  }

  /** The complete history, frozen. Later messages are in another list. */
  get messages(): readonly Message[] {
    if (this.#appended.length > 0) {
      this.#grownFrom = this.#messages
      this.#messages = Object.freeze([...this.#messages, ...this.#appended])
      this.#appended = []
    }
    return this.#messages
  }

  get last(): Message | undefined {
    return this.#appended.at(-1) ?? this.#messages.at(-1)
  }

  append<Added extends Message>(message: Added): Added {
    this.#appended.push(freeze(message))
    this.#use([message])
    this.#events.push({ type: 'message', message })
    return message
  }

  /** Sets the initial history, and marks the ids of its calls as taken. */
  begin({ messages }: AgentState): void {
    this.#messages = freeze([...messages])
    this.#grownFrom = undefined
    this.#appended = []
    this.#pairs = new Pairs()
    this.#use(messages)
  }

  #use(messages: readonly Message[]): void {
    for (const id of callIds(messages)) {
      this.requests(id)
      this.#used.add(id)
    }
  }

  /** Replaces the history with the one that a hook returned. */
  replace(state: AgentState): void {
    if (state.messages === this.messages) return
    this.begin(state)
    this.#events.push({ type: 'history-replaced', messages: this.#messages })
  }

  /** Stores the answer as a hook rewrote it: in place of the model's, or at the end if the answer came from a call, which stays. */
  replaceAnswer(old: AssistantMessage | ToolMessage, answer: AssistantMessage): AssistantMessage {
    if (old.role === 'tool' || callsOf(old).length > 0) return this.append(answer)
    this.replace({ messages: this.messages.map((message) => (message === old ? answer : message)) })
    return answer
  }

  /** The messages that were not in the earlier history. */
  since(before: readonly Message[]): readonly Message[] {
    const { messages } = this
    return Object.freeze(this.placesSince(before).flatMap((place) => messages[place] ?? []))
  }

  /** The indexes of these messages. */
  placesSince(before: readonly Message[]): number[] {
    const { messages } = this
    let same = before === this.#grownFrom ? before.length : 0
    while (same < before.length && messages[same] === before[same]) same++
    // Usually all of it is unchanged, and no set is needed.
    const old = same < before.length ? new Set(before) : undefined
    return messages.slice(same).flatMap((message, index) => (old?.has(message) ? [] : [same + index]))
  }

  /** Throws {@link HistoryError} unless each call has its result, in order. */
  checkPairs(): void {
    this.#pairs.check(this.messages)
  }

  /** A response requests a call with this id, or has done so before the resume: no other call may have it. */
  requests(id: string): void {
    this.takenIds.add(id)
    this.#requestedIds.add(id)
  }

  /** Whether a call of the history has or had this id. */
  hasCall(id: string): boolean {
    return this.#used.has(id)
  }

  /** The ids of calls of responses that the history does not contain, except for those that `isOpen` accepts. */
  idsWithout(isOpen: (id: string) => boolean): string[] {
    const present = new Set(callIds(this.messages))
    return [...this.#requestedIds].filter((id) => !present.has(id) && !isOpen(id))
  }
}

/** Checks a history that grows. It examines each message once. */
export class Pairs {
  /** The calls of the last message that have no result yet. */
  readonly #open: Set<string> = new Set()
  #seen = 0

  /** Throws {@link HistoryError} unless the results of each call, and nothing else, stand directly after its message. */
  check(messages: readonly Message[]): void {
    const wrong: string[] = []
    let first = ''
    for (; this.#seen <= messages.length; this.#seen++) {
      const message = messages[this.#seen]
      if (message?.role === 'tool') {
        if (!this.#open.delete(message.callId)) wrong.unshift(message.callId)
      } else {
        wrong.push(...this.#open)
        this.#open.clear()
        for (const { id } of message ? callsOf(message) : [])
          if (this.#open.size === this.#open.add(id).size) wrong.push(id)
      }
      if (wrong.length > 0) first ||= `messages[${this.#seen}] (${message?.role ?? 'the end'})`
    }
    this.#seen = messages.length
    if (first) throw new HistoryError([...new Set(wrong)], first)
  }
}
