/** Many in, one out, in order of happening: where the events of everything at work in a run come together. */

import type { Flow } from './flow.ts'

export class Funnel<Event> {
  readonly #queue: Event[] = []
  #wake: (() => void) | undefined

  push(event: Event): void {
    this.#queue.push(event)
    this.#stir()
  }

  /**
   * What is pushed while `flow` is at work; the outcome is the flow's. Each of its own events is handed to `take`, which pushes
   * what is to be seen of it. The flow is asked for its next event when all before it are gone, so nothing piles up.
   *
   * There is one merge at a time. Left before its end, it calls `cancel` and closes the flow.
   */
  async *merge<Inner, Result>(
    flow: Flow<Inner, Result>,
    take: (event: Inner) => void,
    cancel: () => void,
  ): Flow<Event, Result> {
    const inner: { pulling: boolean; outcome?: { readonly value: Result } | { readonly error: unknown } } = {
      pulling: false,
    }
    const pulled = (step: IteratorResult<Inner, Result>) => {
      inner.pulling = false
      if (step.done) inner.outcome = { value: step.value }
      else take(step.value)
      this.#stir()
    }
    const failed = (error: unknown) => {
      inner.outcome = { error }
      this.#stir()
    }

    try {
      for (;;) {
        while (this.#queue.length > 0) yield this.#queue.shift() as Event
        if (inner.outcome) {
          if ('error' in inner.outcome) throw inner.outcome.error
          return inner.outcome.value
        }
        if (!inner.pulling) {
          inner.pulling = true
          flow.next().then(pulled, failed)
          // What it pushed before its first wait is not waited for.
          continue
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    } finally {
      if (!inner.outcome) {
        cancel()
        await flow.return(undefined as Result)
      }
    }
  }

  /** What is pushed until the promise settles; the outcome is the promise's. */
  until<Result>(promise: Promise<Result>): Flow<Event, Result> {
    return this.merge(
      (async function* (): Flow<never, Result> {
        return await promise
      })(),
      () => undefined,
      () => undefined,
    )
  }

  /** What was pushed and nobody merged. */
  drain(): Event[] {
    return this.#queue.splice(0)
  }

  #stir(): void {
    this.#wake?.()
    this.#wake = undefined
  }
}
