/** Masks secrets in the events of one or more responses: in text, in reasoning, and in the input of a call that is the answer. */

import type { ModelEvent } from '@meanwhile/core'
import { maskedData } from './masked-data.ts'
import { MaskedStream } from './masked-stream.ts'
import type { Masker } from './masker.ts'

/** `More`: what the events have besides. Simultaneous attempts have separate texts. */
export class MaskedResponse<More extends { readonly attempt?: number }> {
  readonly #masker: Masker
  readonly #window: number
  readonly #answerTool: string | undefined
  /** The texts that are being written, by attempt, kind and call, with the last event of each. */
  readonly #texts: Map<string, Text<More>> = new Map()

  /** `answerTool`: the name of the tool whose input is the answer. `window`: how many characters of a text may be held back. */
  constructor(masker: Masker, window: number, answerTool: string | undefined) {
    this.#masker = masker
    this.#window = window
    this.#answerTool = answerTool
  }

  /**
   * Returns the events that are shown now. Held-back text is released before a call, so that nothing waits for it. Text and reasoning are two separate
   * texts, even if they alternate: a secret may continue after a piece of the other.
   */
  *shown(event: ModelEvent & More): Generator<ModelEvent & More, void, undefined> {
    const { attempt } = event
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
        return yield* this.#push(event)
      // The pieces of an input follow its start, so a text is released before.
      case 'tool-input-delta':
        return this.#texts.has(keyOf(event)) ? yield* this.#push(event) : yield event
      case 'tool-input-start':
        yield* this.#rest(attempt, isOfText)
        if (event.name === this.#answerTool) this.#begin(keyOf(event))
        return yield event
      case 'tool-input-ready': {
        yield* this.#rest(attempt, isOfText)
        const input = this.#masked(event.name, event.input) as typeof event.input
        return yield input === event.input ? event : { ...event, input }
      }
      case 'tool-input-closed':
      case 'tool-call': {
        const { call } = event
        yield* this.#rest(attempt, (one) => isOfText(one) || one.id === call.id)
        const input = this.#masked(call.name, call.input)
        return yield input === call.input ? event : { ...event, call: { ...call, input } }
      }
    }
  }

  /** The response, or one attempt, is over: returns its held-back text. */
  *rest(attempt?: number): Generator<ModelEvent & More, void, undefined> {
    yield* this.#rest(attempt, () => true)
    for (const [key, { last }] of this.#texts)
      if (attempt === undefined || last?.attempt === attempt) this.#texts.delete(key)
  }

  *#rest(attempt: number | undefined, ends: (event: Delta) => boolean): Generator<ModelEvent & More, void, undefined> {
    for (const { stream, last } of this.#texts.values()) {
      if (!last || !ends(last) || (attempt !== undefined && last.attempt !== attempt)) continue
      const delta = stream.flush()
      if (delta !== '') yield { ...last, delta }
    }
  }

  *#push(event: Delta & More): Generator<ModelEvent & More, void, undefined> {
    const text = this.#texts.get(keyOf(event)) ?? this.#begin(keyOf(event))
    text.last = event
    const delta = text.stream.push(event.delta)
    if (delta !== '') yield delta === event.delta ? event : { ...event, delta }
  }

  #begin(key: string): Text<More> {
    const text = { stream: new MaskedStream(this.#masker, this.#window), last: undefined }
    this.#texts.set(key, text)
    return text
  }

  #masked(tool: string, input: unknown): unknown {
    return tool === this.#answerTool ? maskedData(this.#masker, input) : input
  }
}

type Delta = Extract<ModelEvent, { readonly delta: string }> & { readonly attempt?: number; readonly id?: string }

interface Text<More> {
  readonly stream: MaskedStream
  last: (Delta & More) | undefined
}

function keyOf({
  type,
  attempt,
  id = '',
}: {
  readonly type: string
  readonly attempt?: number
  readonly id?: string
}): string {
  return `${attempt} ${type.replace('start', 'delta')} ${id}`
}

function isOfText({ id }: Delta): boolean {
  return id === undefined
}
