/** A tool call while it streams: receives its pieces from the wire, and emits its events in order. */

import type { InputLimits, ModelEvent, ProviderMetadata, ToolCall } from '@meanwhile/core'
import type { CallPiece, NestedCall } from './assembler.ts'
import { mergeMetadata } from './metadata.ts'
import { type InputValue, ToolInput } from './tool-input.ts'

export interface CallContext {
  readonly limits: InputLimits
  readonly emit: (event: ModelEvent) => void
  /** Returns an unused id: the wire's own if possible. */
  readonly takeId: (own: string) => string
  /** The members of its input that the tool with this name needs to start. */
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

  /** The provider states that the call is finished. For a call without a name this takes effect when the name arrives. */
  seal(text: string | undefined): void {
    if (this.#stated) return
    this.#stated = true
    if (text) this.#input.replace(text)
    if (this.#name) this.#over()
  }

  /** Ends the call with a response that allows calls: nothing more will arrive, not even a name. */
  end(): void {
    if (this.#sealed) return
    this.#stated = true
    this.#over()
  }

  /** Whether all of its arguments have arrived. Later pieces can only repeat them. */
  get isWhole(): boolean {
    return this.#input.isWhole
  }

  /** Returns the call as it is now, or the calls that replace it. The objects stay the same as long as nothing changes. */
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
      // If the name comes late, the call is shown with the arguments that have arrived: it can be closed now, but is not started with needed members.
      const needs = this.#context.needsOf(this.#name)
      if (needs?.length) this.#input.need(needs)
      this.#start()
      // The complete input of a finished call arrives at once.
      if (needs?.length === 0 && !this.#stated) this.#ready({})
      // A call that closed and then continued is not closed.
      if (!this.#input.dirty) this.#close()
    }
    if (this.#stated) this.#seal()
  }

  #start(): void {
    if (this.#started) return
    this.#started = true
    this.#context.emit({ type: 'tool-input-start', id: this.#shownId, name: this.#name })
    for (const piece of this.#input.pieces) this.#show(piece)
  }

  #write(delta: string): void {
    const closedBefore = this.#input.closedAt
    const piece = this.#input.add(delta)
    if (!this.#started) return
    this.#show(piece)
    this.#ready(this.#input.ready())
    // Also if the same delta continued after the brace, because it must not matter where the text is cut.
    if (this.#input.closedAt !== closedBefore) this.#close()
  }

  #show(delta: string): void {
    if (delta !== '') this.#context.emit({ type: 'tool-input-delta', id: this.#shownId, delta })
  }

  /** Announces the needed members. Calls that the provider runs itself do not start here. */
  #ready(input: Readonly<Record<string, unknown>> | undefined): void {
    if (!input || this.#providerResult !== undefined) return
    this.#context.emit({ type: 'tool-input-ready', id: this.#shownId, name: this.#name, input })
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
      id: this.#shownId,
      name: this.#name,
      ...value,
      ...(this.#providerResult !== undefined && { providerResult: this.#providerResult }),
      ...(this.#metadata && { providerMetadata: this.#metadata }),
    }
    return this.#call
  }

  /** The id is fixed when it is first shown. A later id is ignored. */
  get #shownId(): string {
    this.#id ??= this.#context.takeId(this.#ownId)
    return this.#id
  }
}
