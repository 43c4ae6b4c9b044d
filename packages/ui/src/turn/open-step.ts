/** What has been told of the step at work. */

import type { AssistantMessage, AssistantPart, ToolCall } from '@meanwhile/core'
import type { PartType, TurnUpdate } from './turn-update.ts'

/** A part that was told, as far as it was told. */
type ToldPart =
  | { readonly type: PartType; readonly id: string; text: string }
  | { readonly type: 'call'; readonly callId: string; readonly toolName: string; progress?: TurnUpdate }

export class OpenStep {
  /** From 1 in each turn. */
  readonly ordinal: number
  /** As the run counts it; unknown of a message that came without. */
  number: number | undefined
  /** The message that stands. */
  message: AssistantMessage | undefined
  /** The id of that message, if the thread has told it. */
  messageId: string | undefined
  /** Whether its `step-start` was told. */
  isTold = false
  readonly #turn: string
  readonly #tell: (update: TurnUpdate) => void
  #parts: ToldPart[] = []
  /** Whether the last part, a text, is still being said. */
  #isSpeaking = false

  constructor(turn: string, ordinal: number, number: number | undefined, tell: (update: TurnUpdate) => void) {
    this.#turn = turn
    this.ordinal = ordinal
    this.number = number
    this.#tell = tell
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0
  }

  get hasCalls(): boolean {
    return this.#parts.some(({ type }) => type === 'call')
  }

  begin(): void {
    if (this.isTold) return
    this.isTold = true
    this.#tell({ type: 'step-start', step: this.ordinal })
  }

  say(type: PartType, delta: string): void {
    let part = this.#isSpeaking ? this.#parts.at(-1) : undefined
    if (part?.type !== type) part = this.#startPart(type)
    if (part.type === 'call') return
    part.text += delta
    this.#tell({ type: 'part-delta', part: type, id: part.id, delta })
  }

  startCall(callId: string, toolName: string): void {
    if (this.#callOf(callId)) return
    this.#endPart()
    this.begin()
    this.#parts.push({ type: 'call', callId, toolName })
    this.#tell({ type: 'call-start', callId, toolName })
  }

  writeCall(callId: string, delta: string): void {
    if (this.#callOf(callId)) this.#tell({ type: 'call-delta', callId, delta })
  }

  /** Of a call whose message does not stand yet it is told again when that stands. */
  progress(callId: string, update: TurnUpdate): void {
    const part = this.#callOf(callId)
    if (!part) return
    if (!this.message) part.progress = update
    this.#tell(update)
  }

  /** All parts are taken back. Returns the ids of its calls. */
  reset(): readonly string[] {
    const calls = this.#parts.flatMap((part) => (part.type === 'call' ? [part.callId] : []))
    if (!this.isEmpty) this.#tell({ type: 'step-reset' })
    this.#parts = []
    this.#isSpeaking = false
    this.message = undefined
    this.messageId = undefined
    return calls
  }

  /** The message stands: what was told is made equal to it. */
  stand(message: AssistantMessage, messageId: string | undefined): void {
    const parts = message.content.filter((part) => part.type === 'tool-call' || part.text !== '')
    this.begin()
    if (!this.#isBeginningOf(parts)) this.reset()
    const told = this.#parts.length
    const last = this.#parts.at(-1)
    const whole = parts[told - 1]
    if (this.#isSpeaking && last && last.type !== 'call' && whole && whole.type !== 'tool-call') {
      if (whole.text.length > last.text.length) this.say(last.type, whole.text.slice(last.text.length))
    }
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

  #startPart(type: PartType): ToldPart {
    this.#endPart()
    this.begin()
    const part = { type, id: `${this.#turn}-${this.ordinal}-${this.#parts.length + 1}`, text: '' }
    this.#parts.push(part)
    this.#isSpeaking = true
    this.#tell({ type: 'part-start', part: type, id: part.id })
    return part
  }

  #endPart(): void {
    const last = this.#parts.at(-1)
    if (this.#isSpeaking && last && last.type !== 'call') this.#tell({ type: 'part-end', part: last.type, id: last.id })
    this.#isSpeaking = false
  }

  #callStands(call: ToolCall): void {
    this.startCall(call.id, call.name)
    this.#tell({ type: 'call', call })
    const progress = this.#callOf(call.id)?.progress
    if (progress) this.#tell(progress)
  }

  #callOf(callId: string) {
    for (const part of this.#parts) if (part.type === 'call' && part.callId === callId) return part
    return undefined
  }

  /** Whether the parts that were told are the first of these; the last may have been told in part. */
  #isBeginningOf(parts: readonly AssistantPart[]): boolean {
    return this.#parts.every((told, index) => {
      const part = parts[index]
      if (part?.type === 'tool-call')
        return told.type === 'call' && told.callId === part.id && told.toolName === part.name
      if (part?.type !== told.type) return false
      const isOpen = this.#isSpeaking && index === this.#parts.length - 1
      return isOpen ? part.text.startsWith(told.text) : part.text === told.text
    })
  }
}
