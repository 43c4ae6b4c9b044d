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

  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Resolves when it is over, or when the step has settled. Rejects when it has failed. It is not a `Promise.race`, which would add to a promise that
   * stays open once for each event.
   */
  async or(step: Promise<unknown>): Promise<void> {
    if (!this.#isOver)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        const settled = () => resolve()
        step.then(settled, settled)
      })
    if (this.#failure) throw this.#failure.error
  }
}
