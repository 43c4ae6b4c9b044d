/** A response while it streams: receives its pieces from the wire, and makes its events and finally its message. */

import {
  type AssistantMessage,
  type AssistantPart,
  allowsCalls,
  type FinishReason,
  ModelError,
  type ModelEvent,
  type ResponseInfo,
  type Usage,
} from '@meanwhile/core'
import type { AssembledRequest, Assembler, CallPiece, Label, PartOptions } from './assembler.ts'
import { StreamedCall } from './streamed-call.ts'
import { StreamedText } from './streamed-text.ts'

/** The assembler that `read` receives. It stores the parts, and the events until they are taken. */
export class StreamedResponse implements Assembler {
  readonly #request: AssembledRequest
  readonly #parts: (StreamedText | StreamedCall)[] = []
  readonly #text = new Map<Label, StreamedText>()
  readonly #reasoning = new Map<Label, StreamedText>()
  readonly #calls = new Map<Label, StreamedCall>()
  readonly #ids = new Map<string, number>()
  readonly #events: ModelEvent[] = []
  #made = 0
  #taken = 0
  #usage: Usage | undefined
  #info: ResponseInfo | undefined
  #finishReason: Parameters<Assembler['finish']>[0] | undefined

  constructor(request: AssembledRequest) {
    this.#request = request
  }

  text(delta: string, options?: PartOptions): void {
    this.#spoken('text', this.#text, delta, options)
  }

  reasoning(delta: string, options?: PartOptions): void {
    this.#spoken('reasoning', this.#reasoning, delta, options)
  }

  call(label: Label, piece: CallPiece): void {
    this.#call(label).add(piece)
  }

  seal(label: Label, text?: string): void {
    this.#call(label).seal(text)
  }

  isWhole(label: Label): boolean {
    return this.#calls.get(label)?.isWhole ?? false
  }

  usage(usage: Usage): void {
    if (Object.keys(usage).length > 0) this.#usage = { ...this.#usage, ...usage }
  }

  response(info: ResponseInfo): void {
    this.#info = { ...this.#info, ...info }
  }

  finish(reason: Parameters<Assembler['finish']>[0]): void {
    this.#finishReason = reason
  }

  /** Returns the next event that was not taken yet. */
  next(): ModelEvent | undefined {
    if (this.#taken < this.#made) return this.#events[this.#taken++]
    // The array is reused, because a new one per chunk would be garbage for each delta.
    this.#taken = this.#made = 0
    return undefined
  }

  /** There are no more chunks: shows what only becomes complete at the end, and seals the calls that may run. */
  end(): FinishReason {
    const reason = this.#finishReason
    if (!reason) throw this.#failed('stream_truncated', 'the response was cut off: its stream had no terminal event')
    if (typeof reason === 'object') throw this.#failed(reason.code, reason.message)
    if (reason === 'error') {
      const word = this.#info?.finishReason
      const how = word === undefined || word === 'error' ? '' : ` (${word})`
      throw this.#failed('finish_reason_error', `the provider ended the response with an error${how}`)
    }
    for (const part of this.#parts) if (part instanceof StreamedText || allowsCalls(reason)) part.end()
    return reason
  }

  message(finishReason: FinishReason): AssistantMessage {
    const content = this.#parts.flatMap((part): readonly AssistantPart[] => part.parts())
    return {
      role: 'assistant',
      content,
      finishReason,
      ...(this.#usage && { usage: this.#usage }),
      ...(this.#info && { response: this.#info }),
    }
  }

  #failed(code: string, message: string): ModelError {
    return new ModelError(message, { code, retryable: true, partial: this.message('error') })
  }

  #spoken(type: 'text' | 'reasoning', labelled: Map<Label, StreamedText>, delta: string, options?: PartOptions): void {
    let part = this.#continued(type, labelled, options?.label)
    if (!part) {
      if (delta === '' && !options?.metadata) return
      part = new StreamedText(type, this.#emit)
      this.#parts.push(part)
      if (options?.label !== undefined) labelled.set(options.label, part)
    }
    part.add(delta, options?.metadata)
  }

  #continued(type: 'text' | 'reasoning', labelled: Map<Label, StreamedText>, label?: Label): StreamedText | undefined {
    if (label !== undefined) return labelled.get(label)
    const latest = this.#parts.at(-1)
    return latest instanceof StreamedText && latest.type === type ? latest : undefined
  }

  #call(label: Label): StreamedCall {
    const known = this.#calls.get(label)
    if (known) return known
    const { inputLimits: limits, tools } = this.#request
    const needsOf = (name: string) => tools?.find((tool) => tool.name === name)?.needs
    const call = new StreamedCall({ limits, emit: this.#emit, takeId: this.#takeId, needsOf })
    this.#calls.set(label, call)
    this.#parts.push(call)
    return call
  }

  readonly #emit = (event: ModelEvent): void => {
    this.#events[this.#made++] = event
  }

  /** Makes ids deterministically: the same stream has the same ids. `#ids` holds the last number that was appended to each. */
  readonly #takeId = (own: string): string => {
    let id = own
    let n = this.#ids.get(own) ?? 0
    while (id === '' || this.#ids.has(id) || this.#request.takenIds.has(id)) id = `${own || 'call'}_${++n}`
    this.#ids.set(id, 0).set(own, n)
    return id
  }
}
