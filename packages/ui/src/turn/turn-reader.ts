/** Converts the events of a turn to updates for its reader: one state machine for every protocol. */

import type {
  AgentResult,
  AssistantMessage,
  FinishReason,
  InterruptedResult,
  Json,
  ToolMessage,
  Usage,
  UserMessage,
} from '@meanwhile/core'
import type { EndStatus, ErrorInfo, ThreadEventBody } from '@meanwhile/threads'
import { BackgroundCalls } from './background-calls.ts'
import { OpenQuestions } from './open-questions.ts'
import { OpenStep } from './open-step.ts'
import { questionOf } from './question-of.ts'
import type { PartType, TurnUpdate } from './turn-update.ts'

/** An event of a thread's turn, or of a run without a thread. */
export type ReadEvent = ThreadEventBody & { readonly turn?: string; readonly cursor?: string }

interface Beginning {
  readonly message?: UserMessage
  readonly messageId?: string
  readonly display?: Json
}

interface TurnEnding {
  readonly status: EndStatus
  readonly error?: ErrorInfo
  readonly usage?: Usage | undefined
}

export interface ReaderOptions {
  /** Sends a step only when its message is committed, so that nothing has to be removed again. Default `false`. */
  readonly hold?: boolean
  /** Sends a call as soon as its tool runs and its input is complete, before its message is committed. Default `false`. */
  readonly early?: boolean
}

export class TurnReader {
  readonly #holds: boolean
  readonly #isEarly: boolean
  #updates: TurnUpdate[] = []
  #turn: string | undefined
  #step: OpenStep | undefined
  #steps = 0
  /** Results that were sent, by call. */
  readonly #results = new Map<string, ToolMessage>()
  /** Of the last message of the model. */
  #finishReason: FinishReason | undefined
  /** A message of the model that is sent with the next event, because a hook may change it: what was sent may not be removable. */
  #held: (ReadEvent & { readonly type: 'message' }) | undefined
  readonly #background = new BackgroundCalls()
  readonly #questions = new OpenQuestions((update) => this.#tell(update))
  /** Ids of the messages before the open step. */
  readonly #past = new Set<string>()
  /** Ids of the messages of the open step. */
  #present: string[] = []
  /** User messages since the last step: sent before the next one, or at the end of the turn. */
  #said: (TurnUpdate & { readonly type: 'user-message' })[] = []

  constructor({ hold = false, early = false }: ReaderOptions = {}) {
    this.#holds = hold
    this.#isEarly = early
  }

  /** Returns the updates for the next event. */
  read(event: ReadEvent): readonly TurnUpdate[] {
    this.#updates = []
    // Calls inside calls have no part.
    const isInside = ('path' in event && event.path) || ('makers' in event && event.makers)
    if (!isInside) this.#read(event)
    return this.#updates
  }

  #read(event: ReadEvent): void {
    const held = this.#held
    this.#held = undefined
    const isChange = held && event.type === 'history-replaced' && event.messageId === held.messageId
    const changed = isChange ? event.messages.at(-1) : undefined
    if (held) this.#stands(changed ? { ...held, message: changed } : held)
    if (isChange) return
    if (this.#holds && event.type === 'message' && event.message.role === 'assistant') this.#held = event
    else this.#readNext(event)
  }

  #readNext(event: ReadEvent): void {
    switch (event.type) {
      case 'turn-start':
        this.#begin(event.turn ?? '', event)
        break
      case 'run-start':
        if (this.#turn === undefined) this.#begin(event.runId, {})
        break
      case 'step-start':
        this.#enterStep(event.step, event.resumed)
        break
      case 'attempt-failed':
        this.#dropOpen()
        break
      case 'message':
        this.#stands(event)
        break
      case 'history-replaced':
        this.#changes(event)
        break
      case 'tool-end':
        this.#result(event.message)
        break
      case 'background-end':
        if (!this.#questions.hasCall(event.callId)) break
        this.#background.ended(event.callId)
        this.#result(event.message)
        break
      case 'question':
        this.#questions.askEarly(questionOf(event), this.#steps)
        break
      case 'inside':
        for (const card of event.cards) {
          const result = this.#questions.read(card, this.#steps, this.#results)
          if (result) this.#tellResult(result)
        }
        break
      case 'step-end':
        this.#endStep()
        break
      case 'turn-resumed':
        this.#resume(event.cause, event.messages)
        break
      case 'turn-waiting':
        this.#wait(event)
        break
      case 'turn-end':
        this.#end(event)
        break
      case 'run-end':
        this.#endRun(event.result)
        break
      default:
        if (!this.#holds || this.#step?.message) this.#readLive(event)
    }
  }

  /** Events of a step before its message is committed, and of its running calls. */
  #readLive(event: ReadEvent): void {
    switch (event.type) {
      case 'text-delta':
        this.#say('text', event)
        break
      case 'reasoning-delta':
        this.#say('reasoning', event)
        break
      case 'tool-input-start':
        this.#stepOf(event.step).startCall(event.id, event.name)
        break
      case 'tool-input-delta':
        this.#step?.writeCall(event.id, event.delta)
        break
      case 'tool-input-closed':
      case 'tool-call':
        this.#step?.closeCall(event.call)
        break
      case 'tool-entered':
      case 'tool-progress':
      case 'tool-settled':
        this.#progress(event)
        break
      case 'tool-discarded':
        this.#step?.discard(event.callId)
        break
    }
  }

  #progress(event: ProgressEvent): void {
    const { callId, type } = event
    if (this.#background.isRunning(callId)) {
      if (type === 'tool-progress') this.#tell(progressOf(event))
      return
    }
    if (type === 'tool-progress') this.#questions.progressed(callId)
    this.#step?.progress(callId, progressOf(event))
    if (type === 'tool-settled') this.#step?.settle(event.message, callId)
  }

  #say(part: PartType, { delta, step }: { readonly delta: string; readonly step?: number }): void {
    if (delta !== '') this.#stepOf(step).say(part, delta)
  }

  #tell(update: TurnUpdate): void {
    this.#updates.push(update)
  }

  #begin(turn: string, { message, messageId, display }: Beginning): void {
    this.#turn = turn
    this.#tell({
      type: 'turn-start',
      turn,
      ...(messageId !== undefined && { messageId }),
      ...(message && { message }),
      ...(display !== undefined && { display }),
    })
  }

  /** The step with this number; without a number, the open step. */
  #stepOf(number: number | undefined): OpenStep {
    this.#enterStep(number, this.#step?.message === undefined)
    return this.#step ?? this.#newStep(number)
  }

  /** `isSame`: whether it is the open step, if the number of one of them is unknown. */
  #enterStep(number: number | undefined, isSame = false): void {
    const step = this.#step
    if (step) {
      const known = step.number !== undefined && number !== undefined
      if (known ? step.number === number : isSame || !step.message) {
        step.number ??= number
        return
      }
    }
    this.#endStep()
    this.#newStep(number)
  }

  #newStep(number: number | undefined): OpenStep {
    const tell = (update: TurnUpdate) => {
      if (update.type === 'step-start') {
        this.#tellSaid()
        this.#steps = update.step
      }
      if (update.type === 'step-reset') this.#questions.stepReset(this.#steps)
      this.#tell(update)
      if (update.type !== 'call' || update.isEarly) return
      this.#questions.committed({ type: 'call', call: update.call })
      this.#background.forget(update.call.id)
    }
    this.#step = new OpenStep(this.#turn ?? '', this.#steps + 1, number, { early: this.#isEarly, tell })
    return this.#step
  }

  #endStep(): void {
    const step = this.#step
    this.#dropOpen()
    step?.end()
    this.#step = undefined
    for (const id of this.#present.splice(0)) this.#past.add(id)
  }

  /** Removes the parts of a step that never got a message. */
  #dropOpen(): void {
    if (this.#step && !this.#step.message) this.#reset(this.#step)
  }

  #reset(step: OpenStep): void {
    const callIds = step.reset()
    this.#questions.forget(callIds)
    for (const callId of callIds) {
      this.#results.delete(callId)
      this.#background.forget(callId)
    }
  }

  #stands({ message, messageId, display, step }: ReadEvent & { readonly type: 'message' }): void {
    if (message.role === 'tool') this.#result(message)
    else if (message.role === 'user') this.#userSaid(message, messageId, display)
    else this.#modelSaid(message, messageId, step)
    if (messageId !== undefined && message.role !== 'user') this.#present.push(messageId)
  }

  #modelSaid(message: AssistantMessage, messageId: string | undefined, number: number | undefined): void {
    let step = this.#stepOf(number)
    if (step.message) {
      // A second message within one step is shown as a separate step.
      this.#endStep()
      step = this.#newStep(number)
    }
    step.stand(message, messageId)
    this.#finishReason = message.finishReason
  }

  /** A hook has changed the message of the open step. */
  #changes({ messageId, messages }: ReadEvent & { readonly type: 'history-replaced' }): void {
    const step = this.#step
    const message = messages.at(-1)
    if (messageId === undefined || step?.messageId !== messageId || message?.role !== 'assistant') return
    if (!step.isBeginningOf(message)) this.#reset(step)
    step.stand(message, messageId)
    this.#finishReason = message.finishReason
  }

  /** Messages of a middleware are only for the model. */
  #userSaid(message: UserMessage, messageId = '', display?: Json): void {
    if (message.origin !== undefined) return
    if (this.#step?.message) this.#endStep()
    this.#said.push({ type: 'user-message', id: messageId, message, ...(display !== undefined && { display }) })
  }

  #result(message: ToolMessage): void {
    if (!this.#background.hasResult(message)) return
    const before = this.#results.get(message.callId)
    if (JSON.stringify(before) === JSON.stringify(message)) return
    this.#results.set(message.callId, message)
    this.#tellResult(message, before !== undefined)
  }

  #tellResult(message: ToolMessage, isRevised = false): void {
    const isDenied = this.#questions.isDenied(message.callId)
    const isRunning = this.#background.isRunning(message.callId)
    this.#tell({
      type: 'call-result',
      message,
      ...(isRevised && { revised: true }),
      ...(isDenied && { isDenied }),
      ...(isRunning && { isRunning }),
    })
  }

  #resume(cause: 'answer' | 'recovery' | 'retry', messages: readonly string[]): void {
    this.#tell({ type: 'turn-resumed', cause })
    const counts = new Set(messages)
    if ([...this.#past].every((id) => counts.has(id))) this.#goOn(counts)
    else this.#tell({ type: 'turn-outdated' })
  }

  /** Drops what is no longer valid. `counts`: the ids of the messages that are still valid. */
  #goOn(counts: ReadonlySet<string>): void {
    this.#present = this.#present.filter((id) => counts.has(id))
    this.#said = this.#said.filter(({ id }) => counts.has(id))
    const step = this.#step
    const isRetracted = step?.messageId !== undefined && !counts.has(step.messageId)
    if (step && (isRetracted || !step.message)) this.#reset(step)
    this.#questions.close((callId) => this.#results.has(callId), this.#steps)
  }

  #wait({ interrupts, settled }: Pick<InterruptedResult, 'interrupts' | 'settled'>): void {
    for (const message of settled) this.#result(message)
    const questions = interrupts.map(questionOf)
    this.#questions.askAll(questions, this.#steps)
    this.#tell({ type: 'turn-waiting', questions })
  }

  #end({ status, error, usage }: TurnEnding): void {
    this.#dropOpen()
    for (const message of this.#background.end(status)) this.#result(message)
    const finishReason = this.#finishReason
    const isAnswer = status === 'completed' && this.#step?.hasCalls !== true
    if (!isAnswer && this.#turn !== undefined) this.#endInEmptyStep()
    this.#tellSaid()
    this.#endStep()
    this.#tell({
      type: 'turn-end',
      status,
      ...(error && { error }),
      ...(finishReason && { finishReason }),
      ...(usage && Object.keys(usage).length > 0 && { usage }),
    })
  }

  /**
   * Ends the turn with an empty step. So readers do not take the calls of an ended turn for running ones, and need not know whether a step was open.
   */
  #endInEmptyStep(): void {
    if (this.#step?.isEmpty === false || this.#step?.message) this.#endStep()
    const said = this.#said.splice(0)
    const step = this.#step ?? this.#newStep(undefined)
    step.begin()
    this.#said.push(...said)
  }

  #tellSaid(): void {
    for (const update of this.#said.splice(0)) {
      this.#past.add(update.id)
      this.#tell(update)
    }
  }

  /** Ends a run without a thread. */
  #endRun(result: AgentResult): void {
    if (result.status === 'interrupted') this.#wait(result)
    else this.#end({ status: result.status === 'completed' ? 'completed' : 'stopped', usage: result.usage })
  }
}

type ProgressEvent = ReadEvent & { readonly type: 'tool-entered' | 'tool-progress' | 'tool-settled' }

function progressOf(event: ProgressEvent) {
  const { type, callId, toolName } = event
  if (type === 'tool-settled') return { type: 'call-settled', callId, toolName } as const
  const isEarly = event.provisional === true
  if (type === 'tool-entered') return { type: 'call-entered', callId, toolName, isEarly } as const
  const { progress, message, metadata } = event
  const reported = {
    ...(progress !== undefined && { progress }),
    ...(message !== undefined && { message }),
    ...(metadata !== undefined && { metadata }),
  }
  return { type: 'call-progress', callId, toolName, progress: reported, isEarly } as const
}
