/** Converts the updates of a thread's turns into AG-UI messages, and into the events with which a client builds the same messages. */

import type { ToolCall, ToolMessage, UserMessage } from '@meanwhile/core'
import type { ThreadState } from '@meanwhile/threads'
import { callErrorText, type Present } from '../present.ts'
import { cardIdOf } from '../turn/card.ts'
import { turnsOfThread } from '../turn/thread-turns.ts'
import type { InnerCall, Question, TurnUpdate } from '../turn/turn-update.ts'
import { Activities } from './activities.ts'
import { toAgUiParts } from './content.ts'
import { type Plan, planAfter } from './plan.ts'
import { shownResult } from './result-content.ts'
import { ShownMessages, type UserSaid } from './shown-messages.ts'
import { argumentsOf, callIdIn, innerId, StepMessages, stepId } from './step-messages.ts'
import type { AgUiEvent, AgUiMessage } from './wire.ts'

/** The end of a turn, or the start of its wait for an answer. */
export type TurnEnd = TurnUpdate & { readonly type: 'turn-waiting' | 'turn-end' }

export class Conversation {
  readonly #present: Present
  #events: AgUiEvent[] = []
  readonly #shown: ShownMessages
  #plan: Plan = []
  #turn: string | undefined
  /** Whether the turn is one of a thread, and not a run without one. */
  #isOfThread = false
  /** How many steps of the turn have content. */
  #steps = 0
  #step: StepMessages | undefined
  /** The messages of calls inside calls whose cards stand in the open step. */
  #inner: AgUiMessage[] = []
  /** The AG-UI ids of those calls in the turn, by card. */
  readonly #idOfInner = new Map<string, string>()
  /** The step that was last announced to the client. */
  #toldStep: string | undefined
  readonly #activities: Activities
  #end: TurnEnd | undefined
  #isOutdated = false

  /** `state`: the part of the thread that the client already has; without a thread, `messages`. */
  constructor(present: Present, state?: ThreadState, messages: readonly AgUiMessage[] = []) {
    this.#present = present
    this.#activities = new Activities(present)
    this.#shown = new ShownMessages(messages, (event) => this.#tell(event))
    if (!state) return
    for (const { updates } of turnsOfThread(state)) for (const update of updates) this.read(update)
    this.#toldStep = undefined
  }

  get messages(): readonly AgUiMessage[] {
    return this.#shown.all
  }

  /** The tasks of `planTasks`; empty without a plan. */
  get plan(): Plan {
    return this.#plan
  }

  /** The activities of the background work that is running. Each snapshot of the messages removes them from the client. */
  get activities(): readonly AgUiEvent[] {
    return this.#activities.running
  }

  /** Undefined until the turn has ended or waits. */
  get end(): TurnEnd | undefined {
    return this.#end
  }

  /** The id of the newest turn. */
  get turn(): string | undefined {
    return this.#turn
  }

  /** Whether some of its messages are no longer valid: the thread must be read again. */
  get isOutdated(): boolean {
    return this.#isOutdated
  }

  /** Returns the events of this update for the client. */
  read(update: TurnUpdate): readonly AgUiEvent[] {
    this.#events = []
    this.#read(update)
    const isReplaced = this.#events.some(({ type }) => type === 'MESSAGES_SNAPSHOT')
    return isReplaced ? [...this.#events, ...this.activities] : this.#events
  }

  #read(update: TurnUpdate): void {
    switch (update.type) {
      case 'turn-start':
        this.#begin(update)
        break
      case 'step-reset':
        this.#reset()
        break
      case 'step-end':
        this.#endStep()
        break
      case 'part-delta':
        if (update.part === 'text') this.#openStep().say(update.delta)
        else this.#openStep().reason(update.delta)
        break
      case 'part-end':
        this.#step?.endPart()
        break
      case 'call-start':
        this.#openStep().startCall(update.callId, update.toolName)
        break
      case 'call-delta':
        this.#step?.writeCall(update.callId, update.delta)
        break
      case 'call':
        this.#callStands(update.call)
        break
      case 'call-entered':
      case 'call-settled':
      case 'call-progress':
        this.#events.push(...this.#activities.progress(update, this.idOfCall(update.callId)))
        break
      case 'call-result': {
        const activity = this.#activities.result(update, this.idOfCall(update.message.callId))
        this.#result(update.message)
        if (activity) this.#tell(activity)
        break
      }
      case 'inner-call':
        this.#showInner(update.call)
        break
      case 'inner-result':
        this.#result(update.message, this.#idOfInner.get(update.id))
        break
      case 'user-message':
        this.#userSays(update.id, update.message)
        break
      case 'turn-resumed':
        this.#end = undefined
        break
      case 'turn-outdated':
        this.#endStep()
        this.#isOutdated = true
        break
      case 'turn-waiting':
        this.#leaveStep()
        this.#end = update
        break
      case 'turn-end':
        this.#endStep()
        this.#activities.endTurn()
        this.#end = update
    }
  }

  /**
   * Returns the AG-UI id of a call of this turn. In AG-UI each id is unique in a thread, but a model may reuse an id in another turn, also in one that
   * replaces this turn. A client has only this id when it answers the call of its own tool.
   */
  idOfCall(callId: string): string {
    const id = cardIdOf([{ callId }])
    return this.#isOfThread ? callIdIn(this.#turn ?? '', id) : id
  }

  /** Returns the AG-UI id of the call that asks. */
  idOfCard({ callId, card }: Pick<Question, 'callId' | 'card'>): string | undefined {
    if (callId === undefined) return undefined
    const outermost = this.idOfCall(callId)
    return card ? outermost + card.id.slice(cardIdOf([{ callId }]).length) : outermost
  }

  #tell(event: AgUiEvent): void {
    this.#events.push(event)
  }

  #begin({ turn, messageId, message }: TurnUpdate & { readonly type: 'turn-start' }): void {
    this.#end = undefined
    if (turn === this.#turn) return
    this.#turn = turn
    this.#isOfThread = messageId !== undefined
    this.#steps = 0
    this.#idOfInner.clear()
    if (message && messageId !== undefined) this.#shown.add(userMessage(messageId, message))
  }

  #openStep(): StepMessages {
    const name = `step ${this.#steps + 1}`
    if (this.#toldStep === undefined) this.#tell({ type: 'STEP_STARTED', stepName: name })
    this.#toldStep ??= name
    this.#step ??= new StepMessages({
      id: stepId(this.#turn ?? '', this.#steps + 1),
      idOfCall: (callId) => this.idOfCall(callId),
      put: (message) => this.#shown.add(message),
      tell: (event) => this.#tell(event),
    })
    return this.#step
  }

  #endStep(): void {
    this.#leaveStep()
    if (this.#step && this.#step.messages.length > 0) this.#steps++
    this.#step = undefined
    this.#inner = []
    this.#activities.endStep()
  }

  #leaveStep(): void {
    this.#step?.end()
    this.#shown.complete()
    if (this.#toldStep !== undefined) this.#tell({ type: 'STEP_FINISHED', stepName: this.#toldStep })
    this.#toldStep = undefined
  }

  /** Discards the content of the open step. */
  #reset(): void {
    const step = this.#step
    if (!step) return
    step.end()
    this.#step = undefined
    const calls = this.#shown.remove(new Set([...step.messages, ...this.#inner]))
    this.#inner = []
    for (const [card, toolCallId] of this.#idOfInner) if (calls.has(toolCallId)) this.#idOfInner.delete(card)
  }

  #callStands(call: ToolCall): void {
    const { id, name, providerResult } = call
    this.#step?.endCall(call)
    // The provider has run it, and the thread has no other message with its result.
    if (providerResult !== undefined)
      this.#result({ role: 'tool', callId: id, name, content: [], output: providerResult })
    this.#shown.changeCall(this.idOfCall(id), { name, arguments: argumentsOf(call) })
  }

  #showInner(call: InnerCall): void {
    const { id: card, callId, toolName: name } = call
    const toolCallId = this.idOfCard({ callId, card: call }) ?? card
    const called = { name, arguments: argumentsOf(call) }
    if (this.#idOfInner.has(card)) this.#shown.repeatCall(toolCallId, called)
    else this.#inner.push(this.#shown.addCall(innerId(this.#turn ?? '', card), toolCallId, called))
    this.#idOfInner.set(card, toolCallId)
  }

  /** `inner`: the AG-UI id of a call inside a call. */
  #result(message: ToolMessage, inner?: string): void {
    const { callId, isError = false } = message
    const toolCallId = inner ?? this.idOfCall(callId)
    if (isError) {
      this.#shown.addResult(toolCallId, callErrorText(this.#present, message), isError)
      return
    }
    const { content, output } = shownResult(this.#present, message)
    this.#shown.addResult(toolCallId, content, isError)
    if (inner === undefined) this.#plan = planAfter(this.#plan, message, output)
  }

  #userSays(id: string, message: UserMessage): void {
    this.#endStep()
    this.#shown.addUserMessage(userMessage(id, message))
  }
}

function userMessage(id: string, { content }: UserMessage): UserSaid {
  return { id, role: 'user', content: typeof content === 'string' ? content : toAgUiParts(content) }
}
