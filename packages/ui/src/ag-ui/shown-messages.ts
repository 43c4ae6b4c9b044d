/** The messages that a client has, and the events with which it makes the same changes to them. */

import type { ResultContent } from './result-content.ts'
import { snapshots } from './snapshots.ts'
import { type CallOfMessage, sameArguments } from './step-messages.ts'
import type { AgUiEvent, AgUiMessage } from './wire.ts'

export type UserSaid = Extract<AgUiMessage, { role: 'user' }>
type ResultMessage = Extract<AgUiMessage, { role: 'tool' }>
type Called = CallOfMessage['function']

export class ShownMessages {
  #messages: AgUiMessage[]
  /** Whether the client has a result without its `error`: the event for a result has no such member. */
  #lacksError = false
  readonly #tell: (event: AgUiEvent) => void

  constructor(messages: readonly AgUiMessage[], tell: (event: AgUiEvent) => void) {
    this.#messages = [...messages]
    this.#tell = tell
  }

  get all(): readonly AgUiMessage[] {
    return this.#messages
  }

  /** Adds a message that the client has, or of which it gets the events from the caller. */
  add(message: AgUiMessage): void {
    this.#messages.push(message)
  }

  addUserMessage(said: UserSaid): void {
    const { id, content } = said
    // A turn that is tried again tells its messages again, and a client would join them to those that it has.
    if (this.#messages.some((held) => held.id === id)) return
    if (typeof content !== 'string') {
      this.#replace([...this.#messages, said])
      return
    }
    this.#messages.push(said)
    this.#tell({ type: 'TEXT_MESSAGE_START', messageId: id, role: 'user' })
    this.#tell({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, delta: content })
    this.#tell({ type: 'TEXT_MESSAGE_END', messageId: id })
  }

  /** Adds a message of the assistant with only this call. */
  addCall(id: string, toolCallId: string, called: Called): AgUiMessage {
    const message: AgUiMessage = {
      id,
      role: 'assistant',
      toolCalls: [{ id: toolCallId, type: 'function', function: called }],
    }
    this.#messages.push(message)
    this.#tell({ type: 'TOOL_CALL_START', toolCallId, toolCallName: called.name, parentMessageId: id })
    this.#tell({ type: 'TOOL_CALL_ARGS', toolCallId, delta: called.arguments })
    this.#tell({ type: 'TOOL_CALL_END', toolCallId })
    return message
  }

  changeCall(toolCallId: string, called: Called): void {
    if (this.#change(toolCallId, called)) this.#replace(this.#messages)
  }

  /** Shows that a call is made again, also with the same input: its result belongs to an earlier call with the same id. */
  repeatCall(toolCallId: string, called: Called): void {
    const messages = this.#messages.filter((message) => message.role !== 'tool' || message.toolCallId !== toolCallId)
    const hasChanged = this.#change(toolCallId, called)
    if (hasChanged || messages.length < this.#messages.length) this.#replace(messages)
  }

  /** A client puts a result after the message with its call, and after the results that follow it. */
  addResult(toolCallId: string, content: ResultContent, isError: boolean): void {
    const id = resultId(toolCallId)
    const metadata = isError && { metadata: { isError } }
    const error = isError && typeof content === 'string' && { error: content }
    const message: ResultMessage = { id, role: 'tool', toolCallId, content, ...error, ...metadata }
    const owner = this.#messages.findLastIndex((held) => callIdsOf(held).includes(toolCallId))
    let place = owner < 0 ? this.#messages.length : owner + 1
    for (; this.#messages[place]?.role === 'tool'; place++) {
      const held = this.#messages[place]
      if (held?.id !== id) continue
      if (JSON.stringify(held) === JSON.stringify(message)) return
      // The client would add it as a second result.
      this.#replace(this.#messages.map((held) => (held.id === id ? message : held)))
      return
    }
    this.#messages.splice(place, 0, message)
    this.#lacksError ||= isError
    this.#tell({ type: 'TOOL_CALL_RESULT', messageId: id, toolCallId, content, role: 'tool', ...metadata })
  }

  /** Sends what no event has told. Call it when no message is open. */
  complete(): void {
    if (this.#lacksError) this.#replace(this.#messages)
  }

  /** Removes these messages, with the results of their calls. Returns the ids of the calls. */
  remove(gone: ReadonlySet<AgUiMessage>): ReadonlySet<string> {
    const calls = new Set([...gone].flatMap(callIdsOf))
    this.#replace(
      this.#messages.filter(
        (message) => !gone.has(message) && !(message.role === 'tool' && calls.has(message.toolCallId)),
      ),
    )
    return calls
  }

  /** Returns whether the call was in the messages and is another one now. */
  #change(toolCallId: string, { name, arguments: text }: Called): boolean {
    const owner = this.#messages.findLast((message) => callIdsOf(message).includes(toolCallId))
    const held = owner?.role === 'assistant' ? owner.toolCalls?.find(({ id }) => id === toolCallId) : undefined
    if (!held || (held.function.name === name && sameArguments(held.function.arguments, text))) return false
    held.function = { name, arguments: text }
    return true
  }

  #replace(messages: AgUiMessage[]): void {
    const held = this.#messages
    this.#messages = messages
    this.#lacksError = false
    for (const event of snapshots(held, messages)) this.#tell(event)
  }
}

/** The id of the message with the result of a call that the server has. */
export function resultId(toolCallId: string): string {
  return `${toolCallId}-result`
}

function callIdsOf(message: AgUiMessage): readonly string[] {
  return message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : []
}
