/** Keeps the result of a tool's function until the host reads it: one value, or the values that it yields. */

/** How many yielded values are kept. Then the function waits until the host reads them. */
const MOST_UNREAD = 1_000

export class KeptResult {
  /** The value, or the last one that was yielded. The caller must handle its rejection. */
  readonly done: Promise<unknown>
  readonly #yields: KeptYields | undefined

  constructor(given: unknown) {
    if (isAsyncIterable(given)) {
      this.#yields = new KeptYields()
      this.done = this.#yields.keep(given)
    } else {
      this.done = Promise.resolve(given)
    }
  }

  /** Whether the function yields its values. */
  get isStream(): boolean {
    return this.#yields !== undefined
  }

  /** The result as the function returned it: a promise or an async iterable. For one reader. */
  read(): Promise<unknown> | AsyncIterable<unknown> {
    return this.#yields?.read(this.done) ?? this.done
  }

  /** Nobody will read the result: a function that waits for a reader continues and ends. */
  drop(): void {
    this.#yields?.drop()
  }
}

class KeptYields {
  #unread: unknown[] = []
  #isOver = false
  #isDropped = false
  #wake: () => void = () => undefined

  async keep(given: AsyncIterable<unknown>): Promise<unknown> {
    let last: unknown
    try {
      for await (const value of given) {
        last = value
        this.#unread.push(value)
        this.#wake()
        while (this.#unread.length >= MOST_UNREAD && !this.#isDropped) await this.#change()
        if (this.#isDropped) break
      }
      return last
    } finally {
      this.#isOver = true
      this.#wake()
    }
  }

  async *read(done: Promise<unknown>): AsyncGenerator<unknown, void, undefined> {
    for (;;) {
      const values = this.#unread
      this.#unread = []
      this.#wake()
      yield* values
      if (this.#unread.length > 0) continue
      if (this.#isOver) break
      await this.#change()
    }
    await done
  }

  drop(): void {
    this.#isDropped = true
    this.#unread = []
    this.#wake()
  }

  /** Resolves when the other side, reader or writer, has done something. The two never wait at the same time. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
