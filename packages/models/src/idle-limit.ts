/** How long a provider may say nothing. */

export class IdleError extends Error {
  override readonly name = 'IdleError'

  constructor(limit: number) {
    super(`the provider said nothing for ${limit} ms`)
  }
}

/** Five minutes: models that reason out of sight may well say nothing for two. */
export const IDLE_TIMEOUT = 300_000

/**
 * How long a stream may outlast its protocol, in ms. It is read to its end, so that its connection can be used again; but some hosts
 * leave it open (qT13).
 */
const LINGER = 500

/** The longest time a timer takes. */
const LONGEST = 2 ** 31 - 1

/**
 * Calls `end` when so many ms, `Infinity` for none, were spent waiting and nothing was {@link said}. The time between one wait and
 * the next is the reader's own.
 */
export class IdleLimit {
  readonly #limit: number
  readonly #end: (error: IdleError) => void
  /** Whether the protocol has ended: what still happens to the stream does not matter. */
  isOver = false
  #left: number
  #since: number | undefined
  // One that stays, and looks when it is due: setting one for each read would cost more than the reading.
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(limit: number, end: (error: IdleError) => void) {
    this.#limit = this.#left = Math.min(limit, LONGEST)
    this.#end = end
  }

  said(): void {
    this.#left = this.#limit
  }

  /** The protocol has ended: the stream gets half a second more, whatever still comes. */
  over(): void {
    this.isOver = true
    clearTimeout(this.#timer)
    const limit = Math.min(LINGER, this.#limit)
    this.#timer = setTimeout(() => this.#end(new IdleError(limit)), limit)
  }

  /** Somebody waits, until {@link came}. */
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

/** Reads the stream, each time within the limit. Of itself not every stream heeds the signal it was asked for with. */
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
