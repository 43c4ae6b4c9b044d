/** Does works of the same key one after the other, in the order in which they were asked for. */
export class InTurn {
  /** Ends when the last work that was asked for has ended. Never rejects. */
  readonly #last = new Map<string, Promise<unknown>>()

  async do<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
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
