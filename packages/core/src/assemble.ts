/** From a provider's chunks to events and one message: the only accumulator in the house. */

import { StreamedCall } from './assemble/streamed-call.ts'
import { StreamedText } from './assemble/streamed-text.ts'
import { ModelError, type ModelErrorData } from './errors.ts'
import type { Flow } from './flow.ts'
import {
  type AssistantMessage,
  allowsCalls,
  type FinishReason,
  type ProviderMetadata,
  type ResponseInfo,
  type Usage,
} from './message.ts'
import type { ModelEvent, ModelRequest } from './model.ts'

/**
 * Reads `chunks` to their end and makes the events and the message of them. The `tool-call` events and the message hold the same
 * objects; so do `tool-input-closed` and `tool-call`, unless something came between (G1, G6).
 *
 * @throws {ModelError} The response failed, was cut off, or is not to be used; `partial` holds what came (G11, A19).
 */
export async function* assemble<Chunk>(
  request: Pick<ModelRequest, 'takenIds' | 'inputLimits'>,
  chunks: AsyncIterable<Chunk>,
  read: ReadChunk<Chunk>,
  explain: Explain = () => undefined,
): Flow<ModelEvent, AssistantMessage> {
  const response = new Response(request)
  try {
    for await (const chunk of chunks) {
      read(chunk, response)
      for (let event = response.next(); event; event = response.next()) yield event
    }
  } catch (thrown) {
    // What the chunk said before it failed.
    for (let event = response.next(); event; event = response.next()) yield event
    const data = explain(thrown)
    if (!data) throw thrown
    throw new ModelError(data.message, { cause: thrown, ...data, partial: response.message('error') })
  }
  const finishReason = response.end()
  for (let event = response.next(); event; event = response.next()) yield event
  return response.message(finishReason)
}

/** What tells two calls, or two parts, of one response apart: an index, an item id, a block number. */
export type Label = string | number

/**
 * What a wire says of the response, piece by piece. The assembler makes the events and the message of it.
 *
 * Nothing is done twice: a delta costs O(its length), text is joined once, arguments are parsed at most twice (G13).
 */
export interface Assembler {
  /**
   * A piece of the answer. Pieces with one label make one part; without a label a piece continues the latest part if that is
   * text, and begins a new part if it is not. An empty piece begins no part unless it brings metadata.
   */
  text(delta: string, options?: PartOptions): void
  /** A piece of the model's reasoning; parts as in {@link text}. */
  reasoning(delta: string, options?: PartOptions): void
  /**
   * Something about the call with this label: its id, its name, a piece of its arguments. Absent, null and empty fields say
   * nothing; the first id and the first name that are not empty stand. The call begins with the first mention of its label.
   */
  call(label: Label, piece: CallPiece): void
  /** The provider states that this call is finished. `text`: its whole arguments, where the wire repeats them: it decides. */
  seal(label: Label, text?: string): void
  /** Token counts; a later figure replaces an earlier one. */
  usage(usage: Usage): void
  response(info: ResponseInfo): void
  /**
   * The protocol's own end of the response, with its reason. Chunks may still follow (usage, late metadata). A response
   * whose chunks end without it is truncated (G11).
   */
  finish(reason: FinishReason): void
}

export interface PartOptions {
  readonly label?: Label
  /** Merged, per provider, into the part's metadata. */
  readonly metadata?: ProviderMetadata
}

export interface CallPiece {
  readonly id?: string | null | undefined
  readonly name?: string | null | undefined
  readonly delta?: string | null | undefined
  readonly metadata?: ProviderMetadata
  /** The provider ran this call itself, with this result (G16). */
  readonly providerResult?: unknown
}

/** Reads one chunk of a wire. It may throw: see {@link Explain}. */
export type ReadChunk<Chunk> = (chunk: Chunk, to: Assembler) => void

/** What a thrown thing means as a `ModelError`: for the errors of a vendor's client. `undefined`: it passes as it is. */
export type Explain = (thrown: unknown) => (ModelErrorData & { readonly message: string }) | undefined

/** One response: what `read` is given, the queue of its events, and the message at the end. */
class Response implements Assembler {
  readonly #request: Pick<ModelRequest, 'takenIds' | 'inputLimits'>
  readonly #parts: (StreamedText | StreamedCall)[] = []
  readonly #text = new Map<Label, StreamedText>()
  readonly #reasoning = new Map<Label, StreamedText>()
  readonly #calls = new Map<Label, StreamedCall>()
  readonly #ids = new Set<string>()
  readonly #events: ModelEvent[] = []
  #taken = 0
  #usage: Usage | undefined
  #info: ResponseInfo | undefined
  #finishReason: FinishReason | undefined

  constructor(request: Pick<ModelRequest, 'takenIds' | 'inputLimits'>) {
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

  usage(usage: Usage): void {
    this.#usage = { ...this.#usage, ...usage }
  }

  response(info: ResponseInfo): void {
    this.#info = { ...this.#info, ...info }
  }

  finish(reason: FinishReason): void {
    this.#finishReason = reason
  }

  /** The next event that was not yet taken. */
  next(): ModelEvent | undefined {
    const event = this.#events[this.#taken++]
    if (event) return event
    this.#events.length = 0
    this.#taken = 0
    return undefined
  }

  /** There are no more chunks: what is complete only now is shown, and what may run is sealed (G4). */
  end(): FinishReason {
    const reason = this.#finishReason
    if (reason === undefined)
      throw this.#failed('stream_truncated', 'the response was cut off: its stream has no terminal event')
    if (reason === 'error') throw this.#failed('finish_reason_error', 'the provider ended the response with an error')
    for (const part of this.#parts) if (part instanceof StreamedText || allowsCalls(reason)) part.end()
    return reason
  }

  message(finishReason: FinishReason): AssistantMessage {
    return {
      role: 'assistant',
      content: this.#parts.map((part) => part.part()),
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
    let call = this.#calls.get(label)
    if (!call) {
      call = new StreamedCall({ limits: this.#request.inputLimits, emit: this.#emit, takeId: this.#takeId })
      this.#calls.set(label, call)
      this.#parts.push(call)
    }
    return call
  }

  readonly #emit = (event: ModelEvent): void => {
    this.#events.push(event)
  }

  /** Made deterministically: the same stream gives the same ids (G10). */
  readonly #takeId = (own: string): string => {
    let id = own
    for (let n = 1; id === '' || this.#ids.has(id) || this.#request.takenIds.has(id); n++) id = `${own || 'call'}_${n}`
    this.#ids.add(id)
    return id
  }
}
