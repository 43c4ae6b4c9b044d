/** The AG-UI messages of one step: one message for its text and calls, and one for each block of reasoning. */

import type { ToolCall } from '@meanwhile/core'
import type { AgUiEvent, AgUiMessage } from './wire.ts'

type OwnMessage = Extract<AgUiMessage, { role: 'assistant' }>
type ReasoningMessage = Extract<AgUiMessage, { role: 'reasoning' }>
export type CallOfMessage = NonNullable<OwnMessage['toolCalls']>[number]

/** The id of the message with the text and the calls of a step. `step`: from 1 in each turn. */
export function stepId(turn: string, step: number): string {
  return `${turn}-${step}`
}

/** The id of the message with a call inside a call. `card`: the id of its card. */
export function innerId(turn: string, card: string): string {
  return `${turn}/${card}`
}

/** The id of a call of a turn. `card`: the id of its card. */
export function callIdIn(turn: string, card: string): string {
  return `${turn}-${card}`
}

/** The turn of a message whose id {@link stepId} or {@link innerId} made. Undefined for any other id: a client may give messages its own ids. */
export function turnOfMessage(id = ''): string | undefined {
  return MESSAGE_OF_TURN.exec(id)?.[1]
}

/** The turn of a call whose id {@link callIdIn} made. Undefined for any other id. */
export function turnOfCall(id: string): string | undefined {
  return CALL_OF_TURN.exec(id)?.[1]
}

/** The ids that threads give to turns. */
const TURN = '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}'
const MESSAGE_OF_TURN = new RegExp(`^(${TURN})(?:-\\d+$|/)`)
const CALL_OF_TURN = new RegExp(`^(${TURN})-`)

export interface StepOptions {
  /** The id of the message with text and calls. */
  readonly id: string
  /** The AG-UI id of a call. */
  idOfCall(callId: string): string
  /** Adds a message, which changes until the step ends. */
  put(message: AgUiMessage): void
  tell(event: AgUiEvent): void
}

/** Builds the messages, and returns the events with which a client builds the same. */
export class StepMessages {
  /** In the order in which they began. */
  readonly messages: AgUiMessage[] = []
  readonly #options: StepOptions
  #own: OwnMessage | undefined
  #thought: ReasoningMessage | undefined
  #thoughts = 0
  #isSaying = false
  /** Calls whose input is being streamed, by their AG-UI ids. */
  readonly #written = new Map<string, CallOfMessage>()

  constructor(options: StepOptions) {
    this.#options = options
  }

  say(delta: string): void {
    this.#endReasoning()
    const own = this.#ownMessage()
    if (!this.#isSaying)
      this.#options.tell({ type: 'TEXT_MESSAGE_START', messageId: this.#options.id, role: 'assistant' })
    this.#isSaying = true
    own.content = (own.content ?? '') + delta
    this.#options.tell({ type: 'TEXT_MESSAGE_CONTENT', messageId: this.#options.id, delta })
  }

  endPart(): void {
    this.#endText()
    this.#endReasoning()
  }

  #endText(): void {
    if (this.#isSaying) this.#options.tell({ type: 'TEXT_MESSAGE_END', messageId: this.#options.id })
    this.#isSaying = false
  }

  reason(delta: string): void {
    this.#thought ??= this.#newThought()
    this.#thought.content += delta
    this.#options.tell({ type: 'REASONING_MESSAGE_CONTENT', messageId: this.#thought.id, delta })
  }

  #endReasoning(): void {
    if (!this.#thought) return
    const messageId = this.#thought.id
    this.#options.tell({ type: 'REASONING_MESSAGE_END', messageId })
    this.#options.tell({ type: 'REASONING_END', messageId })
    this.#thought = undefined
  }

  startCall(callId: string, name: string): void {
    this.#endReasoning()
    const id = this.#options.idOfCall(callId)
    const own = this.#ownMessage()
    const call: CallOfMessage = { id, type: 'function', function: { name, arguments: '' } }
    own.toolCalls ??= []
    own.toolCalls.push(call)
    this.#written.set(id, call)
    this.#options.tell({
      type: 'TOOL_CALL_START',
      toolCallId: id,
      toolCallName: name,
      parentMessageId: this.#options.id,
    })
  }

  writeCall(callId: string, delta: string): void {
    const call = this.#written.get(this.#options.idOfCall(callId))
    if (!call || delta === '') return
    call.function.arguments += delta
    this.#options.tell({ type: 'TOOL_CALL_ARGS', toolCallId: call.id, delta })
  }

  /** The call is committed. Its streamed input may be another one, if there is any. */
  endCall(call: ToolCall): void {
    const id = this.#options.idOfCall(call.id)
    const written = this.#written.get(id)
    if (!written) return
    if (written.function.arguments === '') this.writeCall(call.id, argumentsOf(call))
    this.#written.delete(id)
    this.#options.tell({ type: 'TOOL_CALL_END', toolCallId: id })
  }

  /** Closes everything that is open, because no more follows. */
  end(): void {
    this.endPart()
    for (const toolCallId of this.#written.keys()) this.#options.tell({ type: 'TOOL_CALL_END', toolCallId })
    this.#written.clear()
  }

  #ownMessage(): OwnMessage {
    if (this.#own) return this.#own
    this.#own = { id: this.#options.id, role: 'assistant' }
    this.#put(this.#own)
    return this.#own
  }

  #put(message: AgUiMessage): void {
    this.messages.push(message)
    this.#options.put(message)
  }

  #newThought(): ReasoningMessage {
    this.#endText()
    const id = `${this.#options.id}-reasoning-${++this.#thoughts}`
    const thought: ReasoningMessage = { id, role: 'reasoning', content: '' }
    this.#put(thought)
    this.#options.tell({ type: 'REASONING_START', messageId: id })
    this.#options.tell({ type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' })
    return thought
  }
}

export function argumentsOf({ input, inputError }: Pick<ToolCall, 'input' | 'inputError'>): string {
  return inputError !== undefined && typeof input === 'string' ? input : (JSON.stringify(input) ?? '')
}

/** Whether two texts are the same JSON, or the same text if one of them is not JSON. */
export function sameArguments(one: string, other: string): boolean {
  if (one === other) return true
  try {
    return JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other))
  } catch {
    return false
  }
}
