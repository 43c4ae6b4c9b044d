/** Something that is open while a flow is read, and may end while the next event of the flow is awaited. */

export class Beside {
  #isOver = false
  #failure: { readonly error: unknown } | undefined
  #wake = () => {}

  constructor(open: Promise<unknown>) {
    const over = () => {
      this.#isOver = true
      this.#wake()
    }
    open.then(over, (error: unknown) => {
      this.#failure = { error }
      over()
    })
  }

  /**
   * Whether it has ended well.
   *
   * @throws What it has failed with. It may fail at any time: nothing that waits for it may be passed on without this question.
   */
  hasPassed(): boolean {
    this.#throwIfFailed()
    return this.#isOver
  }

  /**
   * Resolves when it has passed, or when the step has settled. Rejects when it has failed. It is not a `Promise.race`, which would add to a promise that
   * stays open once for each event.
   */
  async or(step: Promise<unknown>): Promise<void> {
    if (this.hasPassed()) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      const settled = () => resolve()
      step.then(settled, settled)
    })
    this.#throwIfFailed()
  }

  #throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error
  }
}
