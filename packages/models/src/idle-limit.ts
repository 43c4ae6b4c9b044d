/** Limits how long a provider may be silent. */

export class IdleError extends Error {
  override readonly name = 'IdleError'

  constructor(limit: number) {
    super(`the provider sent nothing for ${limit} ms`)
  }
}

/** Five minutes, because models may reason for two minutes without output. */
export const IDLE_TIMEOUT = 300_000

/**
 * How long a stream may continue after its protocol has ended, in milliseconds. It is read to its end so that its
 * connection can be reused, but some hosts leave it open (qT13).
 */
const LINGER = 500

/** The longest delay of a timer. */
const LONGEST = 2 ** 31 - 1

/**
 * Calls `end` when the reader has waited this many milliseconds in total since the last {@link said}; `Infinity` for no
 * limit. Time between two waits does not count.
 */
export class IdleLimit {
  readonly #limit: number
  readonly #end: (error: IdleError) => void
  /** Whether the protocol has ended: errors of the stream no longer matter. */
  isOver = false
  #left: number
  #since: number | undefined
  // One timer that checks again when it fires: setting one for each read would cost more than the reading.
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(limit: number, end: (error: IdleError) => void) {
    this.#limit = this.#left = Math.min(limit, LONGEST)
    this.#end = end
  }

  said(): void {
    this.#left = this.#limit
  }

  /** The protocol has ended: the stream gets at most half a second more. */
  over(): void {
    this.isOver = true
    clearTimeout(this.#timer)
    const limit = Math.min(LINGER, this.#limit)
    this.#timer = setTimeout(() => this.#end(new IdleError(limit)), limit)
  }

  /** The reader waits until {@link came} is called. */
  waits(): void {
    this.#since = performance.now()
    this.#timer ??= setTimeout(this.#look, Math.max(0, this.#left))
  }

  came(): void {
    if (this.#since !== undefined) this.#left -= performance.now() - this.#since
    this.#since = undefined
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  readonly #look = (): void => {
    this.#timer = undefined
    if (this.#since === undefined) return
    const left = this.#left - (performance.now() - this.#since)
    if (left <= 0) this.#end(new IdleError(this.#limit))
    else this.#timer = setTimeout(this.#look, Math.ceil(left))
  }
}

type Read<T> = { readonly done: false; readonly value: T } | { readonly done: true; readonly value?: T | undefined }

/**
 * Returns a function that reads the stream within the limit. It also reacts to the signal, which not every stream does
 * itself.
 */
export function readsWithin<T>(
  idle: IdleLimit,
  stream: ReadableStream<T>,
  signal: AbortSignal,
): () => Promise<Read<T>> {
  const reader = stream.getReader()
  const leave = (): void => void reader.cancel().catch(() => undefined)
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  return async () => {
    idle.waits()
    const read = await reader.read()
    idle.came()
    signal.throwIfAborted()
    return read
  }
}
