/** Runs works of the same key one at a time, in the order of the calls. */
export class OneByOne {
  /** Ends when the last work of the key has ended. Never rejects. */
  readonly #last = new Map<string, Promise<unknown>>()

  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key)
    const made = before ? before.then(work) : work()
    const ended = made.catch(() => undefined)
    this.#last.set(key, ended)
    try {
      return await made
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    }
  }
}
