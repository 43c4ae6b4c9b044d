/** The state of the open step: which updates its reader has received. */

import { type AssistantMessage, type AssistantPart, callsOf, type ToolCall, type ToolMessage } from '@meanwhile/core'
import { sameInput } from '@meanwhile/core/calls'
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
  /** The JSON text of its input, as far as it was sent. */
  text: string
  /** The call with its whole input, which the model may still change. */
  closed: ToolCall | undefined
  /** Whether its tool was called before the message is committed. */
  hasEntered: boolean
  /** The call, if it was sent before the message is committed. */
  early: ToolCall | undefined
  /** What its card shows of its work: the last progress, or the result. */
  shown: TurnUpdate | undefined
}

type ProgressUpdate = TurnUpdate & { readonly type: 'call-entered' | 'call-progress' | 'call-settled' }

export interface StepOptions {
  /** Whether calls are sent before their message is committed, once their tools run. */
  readonly early: boolean
  readonly tell: (update: TurnUpdate) => void
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
  readonly #isEarly: boolean
  readonly #tell: (update: TurnUpdate) => void
  #parts: (ToldText | ToldCall)[] = []
  /** The parts that are calls, by id. */
  readonly #calls = new Map<string, ToldCall>()
  /** The last part, if it is a text that still streams. */
  #open: ToldText | undefined

  constructor(turn: string, ordinal: number, number: number | undefined, { early, tell }: StepOptions) {
    this.#turn = turn
    this.ordinal = ordinal
    this.number = number
    this.#isEarly = early
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
    const call: ToldCall = {
      type: 'call',
      callId,
      toolName,
      text: '',
      closed: undefined,
      hasEntered: false,
      early: undefined,
      shown: undefined,
    }
    this.#parts.push(call)
    this.#calls.set(callId, call)
    this.#tell({ type: 'call-start', callId, toolName })
  }

  writeCall(callId: string, delta: string): void {
    const part = this.#calls.get(callId)
    if (!part) return
    part.text += delta
    this.#tell({ type: 'call-delta', callId, delta })
  }

  /** The model has written the whole input of a call, and may still change it. */
  closeCall(call: ToolCall): void {
    const part = this.#calls.get(call.id)
    if (!part) return
    part.closed = call
    this.#tellEarly(part)
  }

  /** Sends the progress of a call. If the call's message is not committed yet, what its card shows is sent again with the call. */
  progress(callId: string, update: ProgressUpdate): void {
    const part = this.#calls.get(callId)
    if (!part) return
    if (update.type === 'call-entered' && update.isEarly) {
      part.hasEntered = true
      this.#tellEarly(part)
    }
    if (!this.message) part.shown = update.type === 'call-progress' ? update : undefined
    this.#tell(update)
  }

  /** Sends the result of a call whose message is not committed yet, if the client has the call. */
  settle(message: ToolMessage, callId: string): void {
    const part = this.#calls.get(callId)
    if (!part?.early || this.message) return
    part.shown = { type: 'call-result', message, isEarly: true }
    this.#tell(part.shown)
  }

  /**
   * An early call does not count, and neither does what its card shows of it. Before the message is committed, all parts are sent again, without what
   * was sent of the call beyond its input; later only the call.
   */
  discard(callId: string): void {
    const part = this.#calls.get(callId)
    if (!part) return
    const { early, shown } = part
    part.hasEntered = false
    forgetWork(part)
    if (this.message) {
      const call = callsOf(this.message).find(({ id }) => id === callId)
      if (call && (early || shown)) this.#tell({ type: 'call', call })
    } else if (early) {
      this.#tell({ type: 'step-reset' })
      for (const each of this.#parts) this.#tellAgain(each)
    }
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

  #tellAgain(part: ToldText | ToldCall): void {
    if (part.type === 'call') {
      const { callId, toolName, text, early } = part
      this.#tell({ type: 'call-start', callId, toolName })
      if (text !== '') this.#tell({ type: 'call-delta', callId, delta: text })
      if (early) this.#tellCall(part, { type: 'call', call: early, isEarly: true })
      return
    }
    const { type, id, text } = part
    this.#tell({ type: 'part-start', part: type, id })
    this.#tell({ type: 'part-delta', part: type, id, delta: text })
    if (part !== this.#open) this.#tell({ type: 'part-end', part: type, id })
  }

  /** Only calls whose tools run: no client executes them, and nobody is asked about them. */
  #tellEarly(part: ToldCall): void {
    const { closed: call, hasEntered, early } = part
    if (!this.#isEarly || this.message || early || !call || !hasEntered) return
    part.early = call
    this.#tellCall(part, { type: 'call', call, isEarly: true })
  }

  #tellCall({ shown }: ToldCall, call: TurnUpdate & { readonly type: 'call' }): void {
    this.#tell(call)
    if (shown) this.#tell(shown)
  }

  #callStands(call: ToolCall): void {
    this.startCall(call.id, call.name)
    const part = this.#calls.get(call.id)
    if (!part) return
    const written = part.early ?? part.closed
    if (written && !sameInput(written.input, call.input)) forgetWork(part)
    if (part.early) this.#tell({ type: 'call', call, isTold: true })
    else this.#tellCall(part, { type: 'call', call })
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

/** What was sent of the work on this call is no longer of it. */
function forgetWork(part: ToldCall): void {
  part.early = undefined
  part.shown = undefined
}

function shownParts({ content }: AssistantMessage): readonly AssistantPart[] {
  return content.filter((part) => part.type === 'tool-call' || part.text !== '')
}
