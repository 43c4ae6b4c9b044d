/**
 * Keeps what the cards of a turn show of the calls that a human was asked about: a call inside a call, and of a call of a step another input than the
 * model wrote, and what was decided. The questions themselves are only stored while the turn waits.
 */

import type { Answers, Json, PathPart, PendingInterrupt } from '@meanwhile/core'
import { sameInput } from '@meanwhile/core/calls'
import {
  type CallEvent,
  cardOf,
  denied,
  ended,
  endedWith,
  isInside,
  isOfCard,
  keyOf,
  keyOfEvent,
} from './asked-card.ts'
import { changedBy } from './changed-messages.ts'
import { isDecision } from './decisions.ts'
import type { Outcome } from './owner-decisions.ts'
import type { InsideCard, InsideEvent, ThreadEventBody } from './thread-events.ts'
import type { StoredEvent } from './thread-store.ts'
import { STOPPED } from './user-decisions.ts'

/** A call, and what its card shows. */
interface Asked {
  readonly card: InsideCard
  /** The id of the question that the card has asked last, if it is known. */
  readonly question: string | undefined
  /** What the card shows if the run tells nothing of the answer: an agent with `events: false`. */
  readonly untold?: InsideCard
}

export class AskedCalls {
  /** By the ids of the calls in the path of their card. */
  readonly #asked = new Map<string, Asked>()
  /** The inputs of the turn's own calls, as the model wrote them. */
  readonly #written = new Map<string, Json>()
  /** Whether a model writes a message of the turn. A page would show a new card in the middle of it, and after a reload before it. */
  #isWriting = false
  /** What follows from events while a model writes. */
  readonly #held: InsideEvent[] = []
  /** The payloads of questions as the run has told them, by id: a middleware may have masked them. */
  readonly #payloads = new Map<string, Json>()
  /** Approvals of the turn's own calls that the run has told before it stopped to wait: a page has shown them. */
  readonly #early = new Map<string, InsideCard>()

  /** `own`: the events of the turn that are stored. `interrupts`: its newest questions. */
  constructor(own: readonly StoredEvent[] = [], interrupts: readonly PendingInterrupt[] = []) {
    for (const { event } of own) {
      this.#hasWritten(event)
      if (event.type === 'inside') for (const card of event.cards) this.#show(card)
    }
    for (const pending of interrupts) {
      const asked = cardOf(pending)
      if (!asked) continue
      const { card = asked, question } = this.#asked.get(keyOf(asked.path)) ?? {}
      const isOpen = card.state !== 'ended' && card.approval === asked.approval
      if (question === undefined && isOpen) this.#show(card, pending.id)
    }
  }

  /** Returns what follows from an event of the turn: while a model writes a message, only after that message. Nothing follows from a delta. */
  read(event: ThreadEventBody): readonly InsideEvent[] {
    switch (event.type) {
      case 'attempt-start':
        this.#isWriting ||= !event.path
        return []
      case 'message':
        if (event.path) return []
        this.#hasWritten(event)
        this.#isWriting = false
        return this.flush()
      case 'history-replaced':
        this.#hasWritten(event)
        return []
      case 'question':
        this.#asks(event)
        return []
      case 'custom':
        return this.#afterMessage(isDecision(event) ? this.#decided(event) : [])
      case 'tool-end':
      case 'background-end':
        return this.#afterMessage(this.#ended(event))
      default:
        return []
    }
  }

  /** Returns what is held back. */
  flush(): readonly InsideEvent[] {
    return this.#held.splice(0)
  }

  /** Called when the run has stopped: the cards of questions that are new, or are no longer open. `closing`: why the turn is closed. */
  stopped({ status, ...outcome }: Outcome, closing: string = STOPPED): readonly InsideEvent[] {
    if ('interrupts' in outcome) return this.waits(outcome.interrupts)
    return status === 'failed' ? this.flush() : this.closed(closing)
  }

  /** Called when the turn begins to wait: the cards that it has not told. */
  waits(interrupts: readonly PendingInterrupt[]): readonly InsideEvent[] {
    const asked = interrupts.flatMap((pending) => {
      const { id } = pending
      const card = cardOf({ ...pending, payload: this.#payloads.get(id) ?? pending.payload })
      return card ? [{ card, id }] : []
    })
    const paths = new Set<string>()
    const isNew = ({ card: { path, input }, id }: (typeof asked)[number]) => {
      const [outermost, inner] = path
      const known = this.#asked.get(keyOf(path))
      // A card asks one question at a time.
      if (paths.size === paths.add(keyOf(path)).size) return false
      const isSame = known?.question === id
      if (known?.card.state === 'asked' && isSame) return false
      const isAnother = inner !== undefined || (known !== undefined && !isSame)
      return isAnother || !sameInput(known?.card.input ?? this.#written.get(outermost?.callId ?? ''), input)
    }
    this.#early.clear()
    const [untold, told] = [this.#untold(), asked.filter(isNew)]
    for (const { card, id } of told) this.#show(card, id)
    return [...this.flush(), ...this.#tell([...untold, ...told.map(({ card }) => card)])]
  }

  /** Called when the turn continues with answers. */
  answered(interrupts: readonly PendingInterrupt[] = [], answers: Answers = {}): readonly InsideEvent[] {
    return interrupts.flatMap((pending) => {
      const answer = answers[pending.id]
      const asked = cardOf(pending)
      const { card, question } = (asked && this.#asked.get(keyOf(asked.path))) ?? {}
      if (!card || card.state === 'ended' || question !== pending.id || answer === undefined) return []
      const { decision, input } = Object(answer)
      const isApproval = card.approval !== undefined
      const decided: InsideCard = { ...card, state: isApproval && decision === 'deny' ? 'denied' : 'allowed' }
      const isShown = isInside(card) || isApproval
      const events = isShown && card.state !== decided.state ? this.#tell([decided]) : []
      if (!isApproval) this.#show(decided, question, endedWith(decided, answer))
      if (isApproval && decision === 'edit') this.#show(decided, question, { ...decided, input })
      return events
    })
  }

  /** Called when the turn ends: nobody answers the questions that are open. `reason`: why their calls do not run. */
  closed(reason: string): readonly InsideEvent[] {
    const content = [{ type: 'text', text: reason } as const]
    const open = [...this.#early.values(), ...this.#cards.filter(({ state }) => state === 'asked')]
    const told = this.#tell([
      ...this.#untold(),
      // Nobody has allowed them, and nobody will.
      ...open.filter(({ approval }) => approval !== undefined).map((card) => denied(card, reason)),
      ...open.filter(isInside).map((card) => ended(card, { role: 'tool', content, isError: true })),
    ])
    return [...this.flush(), ...told]
  }

  get #cards(): readonly InsideCard[] {
    return [...this.#asked.values()].map(({ card }) => card)
  }

  #afterMessage(events: readonly InsideEvent[]): readonly InsideEvent[] {
    if (!this.#isWriting) return events
    this.#held.push(...events)
    return []
  }

  #hasWritten(event: ThreadEventBody): void {
    const { message } = event.type === 'message' && !event.path ? event : (changedBy(event) ?? {})
    if (message?.role !== 'assistant') return
    for (const part of message.content) if (part.type === 'tool-call') this.#written.set(part.id, part.input as Json)
  }

  #asks(question: PendingInterrupt): void {
    this.#payloads.set(question.id, question.payload)
    const card = cardOf(question)
    if (card && !isInside(card)) this.#early.set(keyOf(card.path), card)
  }

  #decided(event: ThreadEventBody & { readonly type: 'custom' }): readonly InsideEvent[] {
    const card = this.#cardOf(event)
    if (!card) return []
    const { input = card.input, decision, reason } = Object(event.data)
    this.#show(card)
    // The answer itself has the reason as well, but a middleware may mask it.
    if (decision === 'deny' && typeof reason === 'string') return this.#tell([denied(card, reason)])
    return sameInput(input, card.input) ? [] : this.#tell([{ ...card, input }])
  }

  #ended(event: ThreadEventBody & { readonly type: 'tool-end' | 'background-end' }): readonly InsideEvent[] {
    const { callId, toolName, message, path, makers } = event
    const card = this.#cardOf(event)
    if (card && isInside(card)) return this.#tell([ended(card, message)])
    if (path || makers) return []
    const isOfCall = ({ agent, callId: id }: PathPart) => agent === toolName && id === callId
    const inside = this.#cards.filter((card) => isInside(card) && card.path.slice(0, 1).some(isOfCall))
    const open = message.isError ? inside.filter(({ state }) => state === 'asked') : []
    return this.#tell([
      ...this.#untold(callId),
      ...open.filter(({ approval }) => approval !== undefined).map((card) => denied(card)),
      ...open.map((card) => ended(card, message)),
    ])
  }

  /** The cards of which the run has told nothing since they were answered: all, or those of this call of the turn. */
  #untold(callId?: string): readonly InsideCard[] {
    return [...this.#asked.values()].flatMap(({ untold }) =>
      untold && (callId === undefined || untold.path[0]?.callId === callId) ? [untold] : [],
    )
  }

  /** The card of the call that an event is about, if the call may go on. */
  #cardOf(event: CallEvent): InsideCard | undefined {
    const { card } = this.#asked.get(keyOfEvent(event)) ?? {}
    if (!card || !isOfCard(event, card)) return undefined
    const mayGoOn = card.state !== 'ended' && (card.state !== 'asked' || !isInside(card))
    return mayGoOn ? card : undefined
  }

  #show(card: InsideCard, question?: string, untold?: InsideCard): void {
    const key = keyOf(card.path)
    const asked = { card, question: question ?? card.approval ?? this.#asked.get(key)?.question }
    this.#asked.set(key, { ...asked, ...(untold && { untold }) })
  }

  #tell(cards: readonly InsideCard[]): readonly InsideEvent[] {
    const events: { type: 'inside'; callId: string; cards: InsideCard[] }[] = []
    for (const card of cards) {
      this.#show(card)
      const callId = card.path[0]?.callId ?? ''
      const last = events.at(-1)
      if (last?.callId === callId) last.cards.push(card)
      else events.push({ type: 'inside', callId, cards: [card] })
    }
    return events
  }
}
