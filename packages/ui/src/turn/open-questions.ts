/** The open questions of a turn, and the cards that ask them: a card shows the input that its question is about. */

import type { Json, ToolMessage } from '@meanwhile/core'
import { sameInput } from '@meanwhile/core/calls'
import type { InsideCard } from '@meanwhile/threads'
import { cardIdOf } from './card.ts'
import { InnerCards } from './inner-cards.ts'
import { askedOnCards } from './question-of.ts'
import type { CardAnswer, Question, TurnUpdate } from './turn-update.ts'

type CallUpdate = TurnUpdate & { readonly type: 'call' }

/** `step` of its methods: the number of the last step whose beginning was sent. */
export class OpenQuestions {
  readonly #open = new Map<string, Question>()
  /** Committed calls, by id. */
  readonly #calls = new Map<string, CallUpdate>()
  /** The calls whose cards show progress. */
  readonly #inProgress = new Set<string>()
  /** The last answer about each committed call. */
  readonly #answers = new Map<string, CardAnswer>()
  readonly #inner: InnerCards
  readonly #tell: (update: TurnUpdate) => void

  constructor(tell: (update: TurnUpdate) => void) {
    this.#tell = tell
    this.#inner = new InnerCards(tell)
  }

  /** Whether the turn has this committed call. */
  hasCall(callId: string): boolean {
    return this.#calls.has(callId)
  }

  /** A call was committed, and sent. */
  committed(update: CallUpdate): void {
    this.#calls.set(update.call.id, update)
  }

  /** The parts of a step were removed, and with them its cards. */
  stepReset(step: number): void {
    this.#inner.reset(step)
  }

  /** These calls are no longer valid. */
  forget(callIds: readonly string[]): void {
    for (const callId of callIds) {
      this.#calls.delete(callId)
      this.#answers.delete(callId)
    }
  }

  /** The card of a call of the turn shows progress. */
  progressed(callId: string): void {
    this.#inProgress.add(callId)
  }

  /** Whether this call of the turn does not run, because it was denied. */
  isDenied(callId: string): boolean {
    return this.#answers.get(callId)?.isAllowed === false
  }

  /** Sends what a thread keeps of a call. `results`: the results that were sent, by call. Returns the result that must be sent again. */
  read(card: InsideCard, step: number, results: ReadonlyMap<string, ToolMessage>): ToolMessage | undefined {
    const [outermost, inner] = card.path
    if (inner) this.#inner.read(card, step)
    else if (outermost) return this.#showDecided(outermost.callId, card, results.get(outermost.callId))
    return undefined
  }

  #showDecided(
    callId: string,
    { input, state, approval, reason }: InsideCard,
    result: ToolMessage | undefined,
  ): ToolMessage | undefined {
    const isShown = this.#showInput(callId, input)
    const shown = this.#calls.get(callId)
    if (!shown || approval === undefined || (state !== 'allowed' && state !== 'denied')) return undefined
    const answer: CardAnswer = {
      id: cardIdOf([{ callId }]),
      question: approval,
      isAllowed: state === 'allowed',
      ...(reason !== undefined && { reason }),
    }
    if (isShown && JSON.stringify(answer) === JSON.stringify(this.#answers.get(callId))) return undefined
    this.#answers.set(callId, answer)
    // A client that has a result keeps parts of it, unless the call is sent again.
    if (result && isShown) this.#tell(shown)
    this.#tell({ type: 'card-answer', ...answer })
    return result
  }

  /** Sends a question before the turn waits, except that about a call inside a call: its card comes with the others, in the order of the questions. */
  askEarly(question: Question, step: number): void {
    const { kind, card } = question
    if (card?.title !== undefined && kind !== 'other') return
    const isTaken = kind !== 'other' && [...this.#open.values()].some((other) => other.card?.id === card?.id)
    if (!isTaken && !this.#open.has(question.id)) this.#ask(question, step)
  }

  /** Sends the questions of a turn that waits, except those whose cards ask another one. */
  askAll(questions: readonly Question[], step: number): void {
    const asked = new Set(askedOnCards(questions))
    for (const question of questions) if (question.kind === 'other' || asked.has(question)) this.#ask(question, step)
  }

  /** Closes all questions until they are sent again. `hasResult`: whether the result of a call was sent. */
  close(hasResult: (callId: string) => boolean, step: number): void {
    for (const { kind, callId, card } of this.#open.values()) {
      // A page would run its tool again.
      if (kind === 'client-call') continue
      const call = callId === undefined || card?.title !== undefined ? undefined : this.#calls.get(callId)
      if (call && !hasResult(call.call.id)) this.#tell(call)
      if (card) this.#inner.goOn(card.id, step)
    }
    this.#open.clear()
  }

  #ask(question: Question, step: number): void {
    const { id, kind, callId = '' } = question
    const isShown = kind === 'other' || this.#showAsked(question, step)
    const asker = question.card ? undefined : this.#calls.get(callId)
    // The card waits for an output, which a client would otherwise take for progress.
    if (asker && this.#inProgress.delete(callId)) this.#tell(asker)
    if (this.#open.has(id) && isShown) return
    this.#open.set(id, question)
    this.#tell({ type: 'question', question })
  }

  /** Shows the input that a question is about. Returns whether the card has shown it already. */
  #showAsked({ callId = '', card }: Question, step: number): boolean {
    const { id = '', title, toolName = '', input } = card ?? {}
    if (title !== undefined) return this.#inner.show({ id, title, toolName, input: input ?? null, callId }, step)
    return input === undefined || this.#showInput(callId, input)
  }

  /** Shows another input of a call of the turn than the model wrote. Returns whether its card has shown it already. */
  #showInput(callId: string, input: Json): boolean {
    const shown = this.#calls.get(callId)
    if (!shown || sameInput(shown.call.input, input)) return true
    const update = { ...shown, call: { ...shown.call, input } }
    this.#calls.set(callId, update)
    this.#tell(update)
    return false
  }
}
