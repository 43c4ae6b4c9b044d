/** Masks secrets in the text and reasoning of a model call's events. */

import type { ModelFlow } from '@meanwhile/core'
import { MaskedStream } from './masked-stream.ts'
import type { Masker } from './masker.ts'

type Event = ModelFlow extends AsyncGenerator<infer Event> ? Event : never
type DeltaEvent = Extract<Event, { readonly delta: string; readonly type: 'text-delta' | 'reasoning-delta' }>

/**
 * Held-back text is released before a call, a failure or the end, so that nothing waits for it. Text and reasoning are
 * two separate texts, even if they alternate: a secret may continue after a piece of the other.
 */
export async function* maskedEvents(flow: ModelFlow, masker: Masker, window: number): ModelFlow {
  const deltas = new MaskedDeltas(masker, window)
  try {
    for (;;) {
      const step = await flow.next()
      if (step.done) {
        yield* deltas.rest()
        return step.value
      }
      const event = step.value
      if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
        const delta = deltas.push(event)
        if (delta !== '') yield delta === event.delta ? event : { ...event, delta }
        continue
      }
      // Pieces of a call's input follow its start.
      if (event.type !== 'custom' && event.type !== 'tool-input-delta')
        yield* deltas.rest('attempt' in event ? event.attempt : undefined)
      yield event
    }
  } catch (error) {
    yield* deltas.rest()
    throw error
  }
}

/** Simultaneous attempts have separate streams. */
class MaskedDeltas {
  readonly #masker: Masker
  readonly #window: number
  /** By attempt and kind, with the last event of each. */
  readonly #streams: Map<string, { readonly stream: MaskedStream; last: DeltaEvent }> = new Map()

  constructor(masker: Masker, window: number) {
    this.#masker = masker
    this.#window = window
  }

  push(event: DeltaEvent): string {
    const key = `${event.attempt} ${event.type}`
    let held = this.#streams.get(key)
    if (!held) {
      held = { stream: new MaskedStream(this.#masker, this.#window), last: event }
      this.#streams.set(key, held)
    }
    held.last = event
    return held.stream.push(event.delta)
  }

  /** Returns the held-back text, optionally of one attempt. */
  *rest(attempt?: number): Generator<DeltaEvent, void, undefined> {
    for (const { stream, last } of this.#streams.values()) {
      if (attempt !== undefined && last.attempt !== attempt) continue
      const delta = stream.flush()
      if (delta !== '') yield { ...last, delta }
    }
  }
}
