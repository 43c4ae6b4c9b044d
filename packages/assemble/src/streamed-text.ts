/** Collects a part of text or reasoning while it streams. */

import type { ModelEvent, ProviderMetadata, ReasoningPart, TextPart } from '@meanwhile/core'
import { Fragments } from './fragments.ts'
import { mergeMetadata } from './metadata.ts'

export class StreamedText {
  readonly type: 'text' | 'reasoning'
  readonly #emit: (event: ModelEvent) => void
  readonly #text = new Fragments()
  #metadata: ProviderMetadata | undefined

  constructor(type: 'text' | 'reasoning', emit: (event: ModelEvent) => void) {
    this.type = type
    this.#emit = emit
  }

  add(delta: string, metadata: ProviderMetadata | undefined): void {
    if (metadata) this.#metadata = mergeMetadata(this.#metadata, metadata)
    this.#show(this.#text.add(delta))
  }

  /** The response has ended. */
  end(): void {
    this.#show(this.#text.rest())
  }

  parts(): readonly (TextPart | ReasoningPart)[] {
    return [{ type: this.type, text: this.#text.join(), ...(this.#metadata && { providerMetadata: this.#metadata }) }]
  }

  #show(delta: string): void {
    if (delta !== '') this.#emit({ type: this.type === 'text' ? 'text-delta' : 'reasoning-delta', delta })
  }
}
