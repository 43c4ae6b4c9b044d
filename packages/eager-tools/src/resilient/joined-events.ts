/** One streamed response of several attempts. */

import type { Attempts } from './attempts.ts'

/** What the reader has. Each event of an attempt is taken, and the returned ones are shown. */
export interface Shown<Event> {
  /** How many characters the reader has received. */
  readonly characters: number
  take(event: Event): Iterable<Event>
  /** The attempt has ended well: returns what has waited. */
  stand(): Iterable<Event>
  /** The attempt has failed with this error, and another one begins. */
  again(error: unknown): void
}

/** Asks the models until a response has ended well. `ask`: its stream throws unless the response has ended well. */
export async function* joinedEvents<Model extends object, Asked extends object, Event>(
  attempts: Attempts<Model, Asked>,
  shown: Shown<Event>,
  ask: (model: Asked) => AsyncIterable<Event>,
): AsyncGenerator<Event, void> {
  for (;;) {
    try {
      for await (const event of ask(attempts.model)) yield* shown.take(event)
      yield* shown.stand()
      return
    } catch (error) {
      if (!attempts.failed(error, shown.characters)) throw attempts.failure(error)
      await attempts.next()
      shown.again(error)
    }
  }
}
