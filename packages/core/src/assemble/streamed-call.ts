/** A tool call while it streams: what the wire says of it goes in, its events come out in their order. */

import type { ProviderMetadata, ToolCall } from '../vocabulary/message.ts'
import type { InputLimits, ModelEvent } from '../vocabulary/model.ts'
import type { CallPiece, NestedCall } from './assembler.ts'
import { mergeMetadata } from './metadata.ts'
import { type InputValue, ToolInput } from './tool-input.ts'

export interface CallContext {
  readonly limits: InputLimits
  readonly emit: (event: ModelEvent) => void
  /** An id nobody has: the wire's own, if it is one. */
  readonly takeId: (own: string) => string
  /** What the tool of this name needs of its input to start. */
  readonly needsOf: (name: string) => readonly string[] | undefined
}

export class StreamedCall {
  readonly #context: CallContext
  readonly #input: ToolInput
  #ownId = ''
  #id: string | undefined
  #name = ''
  #nameStands = false
  #started = false
  #stated = false
  #sealed = false
  #metadata: ProviderMetadata | undefined
  #providerResult: unknown
  #expand: CallPiece['expand']
  #nested: readonly ToolCall[] | undefined
  #call: ToolCall | undefined

  constructor(context: CallContext) {
    this.#context = context
    this.#input = new ToolInput(context.limits)
  }

  add({ id, name, nameMayGrow, delta, metadata, providerResult, expand }: CallPiece): void {
    if (metadata) this.#metadata = mergeMetadata(this.#metadata, metadata)
    if (providerResult !== undefined) this.#providerResult = providerResult
    if (metadata || providerResult !== undefined) this.#call = undefined
    if (id) this.#ownId ||= id
    if (name && !this.#nameStands) {
      this.#name = name
      this.#expand = expand
      if (!nameMayGrow || this.#stated) this.#named()
    }
    if (delta && !this.#stated) this.#write(delta)
  }

  /** The provider states that the call is finished; of a nameless one that is kept in mind until it has its name. */
  seal(text: string | undefined): void {
    if (this.#stated) return
    this.#stated = true
    if (text) this.#input.replace(text)
    if (this.#name) this.#over()
  }

  /** The response has ended so that its calls may run: nothing more will come, a name included. */
  end(): void {
    if (this.#sealed) return
    this.#stated = true
    this.#over()
  }

  /** All of its arguments have come: what follows can only be the same again. */
  get isWhole(): boolean {
    return this.#input.isWhole
  }

  /** The call as it stands, or those it stood for: the same objects as long as nothing changes. */
  parts(): readonly ToolCall[] {
    return this.#nested ?? [this.#as(this.#input.value())]
  }

  #over(): void {
    if (this.#name && !this.#nameStands) this.#named()
    else this.#seal()
  }

  #named(): void {
    this.#nameStands = true
    if (!this.#expand) {
      // Of a name that comes late the call is shown at once as far as it is: what it closed with, not what it needed (G8).
      const needs = this.#context.needsOf(this.#name)
      if (needs?.length) this.#input.need(needs)
      this.#start()
      // The whole input of a call that is over comes at once.
      if (needs?.length === 0 && !this.#stated) this.#ready({})
      // Once closed and then gone on with is not closed.
      if (!this.#input.dirty) this.#close()
    }
    if (this.#stated) this.#seal()
  }

  #start(): void {
    if (this.#started) return
    this.#started = true
    this.#context.emit({ type: 'tool-input-start', id: this.#standingId, name: this.#name })
    for (const piece of this.#input.pieces) this.#show(piece)
  }

  #write(delta: string): void {
    const closedBefore = this.#input.closedAt
    const piece = this.#input.add(delta)
    if (!this.#started) return
    this.#show(piece)
    this.#ready(this.#input.ready())
    // Also if the same delta went on after the brace: whether it did is an accident of the cut (G2).
    if (this.#input.closedAt !== closedBefore) this.#close()
  }

  #show(delta: string): void {
    if (delta !== '') this.#context.emit({ type: 'tool-input-delta', id: this.#standingId, delta })
  }

  /** What the provider runs itself is not ours to start. */
  #ready(input: Readonly<Record<string, unknown>> | undefined): void {
    if (!input || this.#providerResult !== undefined) return
    this.#context.emit({ type: 'tool-input-ready', id: this.#standingId, name: this.#name, input })
  }

  #close(): void {
    const value = this.#input.closed()
    if (value) this.#context.emit({ type: 'tool-input-closed', call: this.#as(value) })
  }

  #seal(): void {
    this.#sealed = true
    const { input, inputError } = this.#input.value()
    const nested = inputError === undefined ? this.#expand?.(input) : undefined
    if (nested) this.#nested = nested.map((call) => this.#standFor(call))
    else {
      this.#start()
      this.#show(this.#input.rest())
      this.#context.emit({ type: 'tool-call', call: this.#as(this.#input.value()) })
    }
  }

  #standFor({ name, input }: NestedCall): ToolCall {
    const { emit, takeId } = this.#context
    const id = takeId(this.#ownId)
    const call: ToolCall = { type: 'tool-call', id, name, input }
    emit({ type: 'tool-input-start', id, name })
    emit({ type: 'tool-input-delta', id, delta: JSON.stringify(input) })
    emit({ type: 'tool-call', call })
    return call
  }

  #as(value: InputValue): ToolCall {
    if (this.#call && this.#call.input === value.input && this.#call.inputError === value.inputError) return this.#call
    this.#call = {
      type: 'tool-call',
      id: this.#standingId,
      name: this.#name,
      ...value,
      ...(this.#providerResult !== undefined && { providerResult: this.#providerResult }),
      ...(this.#metadata && { providerMetadata: this.#metadata }),
    }
    return this.#call
  }

  /** It stands from the first time it is shown: an id that comes later is late. */
  get #standingId(): string {
    this.#id ??= this.#context.takeId(this.#ownId)
    return this.#id
  }
}
