/** An `AbortController` that is made when somebody asks for its signal, or aborts it: where most never do, that costs nothing. */
export class LazyController {
  #made: AbortController | undefined

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get aborted(): boolean {
    return this.#made?.signal.aborted ?? false
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  get #controller(): AbortController {
    this.#made ??= new AbortController()
    return this.#made
  }
}
