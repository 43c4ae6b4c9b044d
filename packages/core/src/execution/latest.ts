/** A value that changes, told to whoever asks: the newest alone, so that nothing piles up. */

export class Latest<Value> implements AsyncIterable<Value> {
  #latest: { readonly value: Value } | undefined
  #isOver = false
  readonly #readers: (() => void)[] = []

  set(value: Value): void {
    this.#latest = { value }
    this.#stir()
  }

  /** Nothing more comes. */
  end(): void {
    this.#isOver = true
    this.#stir()
  }

  /** The value there is, then each that comes; of several that come before it is asked, the last. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Value, void, undefined> {
    let seen: { readonly value: Value } | undefined
    for (;;) {
      if (this.#latest !== undefined && this.#latest !== seen) {
        seen = this.#latest
        yield seen.value
      } else if (this.#isOver) {
        return
      } else {
        await new Promise<void>((resolve) => this.#readers.push(resolve))
      }
    }
  }

  #stir(): void {
    for (const wake of this.#readers.splice(0)) wake()
  }
}
