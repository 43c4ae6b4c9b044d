/** A model whose events are pushed into it by a caller that makes the requests and reads the streams itself. */

import { assemble, type ReadChunk, type Wire } from '@meanwhile/assemble'
import {
  type AssistantMessage,
  type FinishReason,
  type Flow,
  type Model,
  ModelError,
  type ModelEvent,
  type ModelRequest,
} from '@meanwhile/core'

export class PushedModel<Event> implements Model {
  readonly provider: string
  readonly id: string
  readonly #wire: Wire<Event, unknown>
  /** One per attempt. */
  readonly #responses: PushedResponse<Event>[] = [new PushedResponse()]
  #attempts = 0
  #isOver = false
  #judged = 0

  constructor(wire: Wire<Event, unknown>, id: string) {
    this.provider = wire.provider
    this.id = id
    this.#wire = wire
  }

  push(event: Event): void {
    if (!this.#isOver) this.#responses.at(-1)?.push(event)
  }

  /** The run has ended, perhaps before it asked for a response: what is still pushed is dropped. */
  over(): void {
    this.#isOver = true
    this.#responses.length = 0
  }

  /** The response has ended; `reason`, if given, overrides the finish reason of the events. */
  finish(reason?: FinishReason): void {
    if (reason) this.#responses.at(-1)?.push(new Ending(reason))
    this.#responses.at(-1)?.end('finished')
  }

  /** The response has failed with this error; the events that follow belong to a new one. */
  retry(error: unknown): void {
    this.#responses.at(-1)?.end('failed', error)
    this.#responses.push(new PushedResponse())
  }

  /** Nobody reads the events any more. */
  abort(reason: unknown): void {
    this.#responses.at(-1)?.end('aborted', reason)
  }

  /**
   * Whether another response follows that of the latest attempt. Resolves when this is known; each attempt returns
   * `true` at most once.
   */
  async isRetried(): Promise<boolean> {
    const attempt = this.#attempts
    if (attempt === this.#judged) return false
    this.#judged = attempt
    return (await this.#responses[attempt - 1]?.ended) === 'failed'
  }

  async *stream(request: ModelRequest): Flow<ModelEvent, AssistantMessage> {
    const response = this.#responses[this.#attempts]
    if (!response) throw new ModelError('no further response is pushed', { code: 'stream_truncated', retryable: false })
    this.#attempts++
    const read = this.#wire.reader(request)
    const hear: ReadChunk<Event | Ending> = (event, to) =>
      event instanceof Ending ? to.finish(event.reason) : read(event, to)
    return yield* assemble(request, response, hear, this.#wire.explain)
  }
}

/** How a response ended, for wires whose events do not contain it. */
class Ending {
  readonly reason: FinishReason

  constructor(reason: FinishReason) {
    this.reason = reason
  }
}

type HowEnded = 'finished' | 'failed' | 'aborted'

/**
 * The queue between the pusher and the reader. It only grows while nobody reads: an active reader takes the events in
 * the same turn of the event loop.
 */
class PushedResponse<Event> implements AsyncIterable<Event | Ending> {
  readonly ended: Promise<HowEnded>
  #resolve: (how: HowEnded) => void = () => undefined
  #events: (Event | Ending)[] = []
  #end: { readonly how: HowEnded; readonly error: unknown } | undefined
  #wake: () => void = () => undefined
  #left = false

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /**
   * Adds an event. Events that nobody reads any more are dropped: the response has failed, and `finish` reports that to
   * the pusher.
   */
  push(event: Event | Ending): void {
    if (this.#left) return
    this.#events.push(event)
    this.#wake()
  }

  end(how: HowEnded, error?: unknown): void {
    this.#end ??= { how, error }
    this.#resolve(how)
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event | Ending, void, undefined> {
    try {
      for (;;) {
        const events = this.#events
        this.#events = []
        yield* events
        if (this.#events.length > 0) continue
        if (this.#end) break
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
      if (this.#end.how !== 'finished') throw this.#end.error
    } finally {
      this.#left = true
      this.#events = []
    }
  }
}
