/** The state of the open step: which updates its reader has received. */

import { type AssistantMessage, type AssistantPart, callsOf, type ToolCall } from '@meanwhile/core'
import type { PartType, TurnUpdate } from './turn-update.ts'

/** A text, as far as it was sent. */
interface ToldText {
  readonly type: PartType
  readonly id: string
  text: string
}

interface ToldCall {
  readonly type: 'call'
  readonly callId: string
  readonly toolName: string
  /** The last progress of the call. */
  progress?: TurnUpdate
}

export class OpenStep {
  /** From 1 in each turn. */
  readonly ordinal: number
  /** The number in the run; undefined for a message without one. */
  number: number | undefined
  /** The committed message. */
  message: AssistantMessage | undefined
  /** The id of that message, if the thread has sent it. */
  messageId: string | undefined
  /** Whether its `step-start` was sent. */
  isTold = false
  readonly #turn: string
  readonly #tell: (update: TurnUpdate) => void
  #parts: (ToldText | ToldCall)[] = []
  /** The parts that are calls, by id. */
  readonly #calls = new Map<string, ToldCall>()
  /** The last part, if it is a text that still streams. */
  #open: ToldText | undefined

  constructor(turn: string, ordinal: number, number: number | undefined, tell: (update: TurnUpdate) => void) {
    this.#turn = turn
    this.ordinal = ordinal
    this.number = number
    this.#tell = tell
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0
  }

  /** Whether the committed message has calls that the agent runs. */
  get hasCalls(): boolean {
    return this.message !== undefined && callsOf(this.message).length > 0
  }

  begin(): void {
    if (this.isTold) return
    this.isTold = true
    this.#tell({ type: 'step-start', step: this.ordinal })
  }

  say(type: PartType, delta: string): void {
    const part = this.#open?.type === type ? this.#open : this.#startPart(type)
    part.text += delta
    this.#tell({ type: 'part-delta', part: type, id: part.id, delta })
  }

  startCall(callId: string, toolName: string): void {
    if (this.#calls.has(callId)) return
    this.#endPart()
    this.begin()
    const call: ToldCall = { type: 'call', callId, toolName }
    this.#parts.push(call)
    this.#calls.set(callId, call)
    this.#tell({ type: 'call-start', callId, toolName })
  }

  writeCall(callId: string, delta: string): void {
    if (this.#calls.has(callId)) this.#tell({ type: 'call-delta', callId, delta })
  }

  /** Sends the progress of a call. If the call's message is not committed yet, the update is sent again when it is. */
  progress(callId: string, update: TurnUpdate): void {
    const part = this.#calls.get(callId)
    if (!part) return
    if (!this.message) part.progress = update
    this.#tell(update)
  }

  /** Removes all parts. Returns the ids of its calls. */
  reset(): readonly string[] {
    const calls = [...this.#calls.keys()]
    if (!this.isEmpty) this.#tell({ type: 'step-reset' })
    this.#parts = []
    this.#calls.clear()
    this.#open = undefined
    this.message = undefined
    this.messageId = undefined
    return calls
  }

  /** Takes the committed message, and corrects the parts that were sent until they equal it. */
  stand(message: AssistantMessage, messageId: string | undefined): void {
    const parts = shownParts(message)
    this.begin()
    if (!this.isBeginningOf(message)) this.reset()
    const told = this.#parts.length
    const open = this.#open
    const whole = parts[told - 1]
    if (open && whole?.type === open.type && whole.text.length > open.text.length)
      this.say(open.type, whole.text.slice(open.text.length))
    this.#endPart()
    this.message = message
    this.messageId = messageId
    for (const [index, part] of parts.entries()) {
      if (part.type === 'tool-call') this.#callStands(part)
      else if (index >= told) {
        this.say(part.type, part.text)
        this.#endPart()
      }
    }
  }

  end(): void {
    this.#endPart()
    if (this.isTold) this.#tell({ type: 'step-end', step: this.ordinal })
  }

  #startPart(type: PartType): ToldText {
    this.#endPart()
    this.begin()
    const part: ToldText = { type, id: `${this.#turn}-${this.ordinal}-${this.#parts.length + 1}`, text: '' }
    this.#parts.push(part)
    this.#open = part
    this.#tell({ type: 'part-start', part: type, id: part.id })
    return part
  }

  #endPart(): void {
    const open = this.#open
    this.#open = undefined
    if (open) this.#tell({ type: 'part-end', part: open.type, id: open.id })
  }

  #callStands(call: ToolCall): void {
    this.startCall(call.id, call.name)
    this.#tell({ type: 'call', call })
    const progress = this.#calls.get(call.id)?.progress
    if (progress) this.#tell(progress)
  }

  /** Whether the sent parts are the first of this message; the last may be incomplete. */
  isBeginningOf(message: AssistantMessage): boolean {
    const parts = shownParts(message)
    return this.#parts.every((told, index) => {
      const part = parts[index]
      if (part?.type === 'tool-call')
        return told.type === 'call' && told.callId === part.id && told.toolName === part.name
      if (part?.type !== told.type) return false
      return told === this.#open ? part.text.startsWith(told.text) : part.text === told.text
    })
  }
}

function shownParts({ content }: AssistantMessage): readonly AssistantPart[] {
  return content.filter((part) => part.type === 'tool-call' || part.text !== '')
}
