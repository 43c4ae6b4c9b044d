/** One streamed response of several attempts. */

import type { Attempts } from '../../resilient/attempts.ts'
import { cutOff, endedWith, isAbort, isTimeout } from '../../resilient/failure.ts'
import type { Model } from '../resolved-model.ts'
import { failedAttempt } from './failed-attempt.ts'
import { cancelled } from './limited-model.ts'
import type { Finish, Part, PartOf, Request, StreamedAnswer } from './parts.ts'
import { ShownParts, type ShownPartsOptions } from './shown-parts.ts'
import { SummedUsage } from './summed-usage.ts'

/** Asks the models until a response has begun, and joins to it what further attempts bring. */
export async function joinedAnswer(
  attempts: Attempts<Model>,
  request: Request,
  options: ShownPartsOptions,
): Promise<StreamedAnswer> {
  const response = new JoinedResponse(attempts, request, options)
  try {
    const first = await response.open()
    return { ...first, stream: response.stream(first.stream) }
  } catch (error) {
    throw thrownTo(request, error)
  }
}

class JoinedResponse {
  readonly #attempts: Attempts<Model>
  readonly #request: Request
  readonly #shown: ShownParts
  readonly #usage = new SummedUsage()
  /** Aborts when the reader leaves. */
  readonly #left = new AbortController()
  #reader: ReadableStreamDefaultReader<Part> | undefined
  #to: ReadableStreamDefaultController<Part> | undefined
  /** How many parts the reader has received. */
  #sent = 0
  /** The last attempt has reported an error: what follows is passed on as the library would get it. */
  #isLast = false
  /** The response has ended well. Parts that follow are passed on, and errors are not. */
  #isOver = false

  constructor(attempts: Attempts<Model>, request: Request, options: ShownPartsOptions) {
    this.#attempts = attempts
    this.#request = request
    this.#shown = new ShownParts(options, (part) => this.#send(part))
  }

  /** The answer of the next attempt that gets one. `abortSignal`: ends its request. */
  async open(abortSignal: AbortSignal | undefined = this.#request.abortSignal): Promise<StreamedAnswer> {
    for (;;) {
      try {
        return await this.#attempts.model.doStream({ ...this.#request, ...(abortSignal && { abortSignal }) })
      } catch (error) {
        if (!this.#isRepeated(error)) throw this.#attempts.failure(error)
        await this.#next(error)
      }
    }
  }

  /** Nothing is read ahead: an attempt is read when the reader requests the next part. */
  stream(first: ReadableStream<Part>): ReadableStream<Part> {
    this.#reader = first.getReader()
    return new ReadableStream<Part>(
      {
        start: (controller) => {
          this.#to = controller
        },
        pull: () =>
          this.#pull().catch((error: unknown) => {
            throw thrownTo(this.#request, error)
          }),
        cancel: (reason) => {
          const left = this.#reader?.cancel(reason)
          this.#left.abort(reason)
          return left
        },
      },
      { highWaterMark: 0 },
    )
  }

  /** Reads until the reader has received a part, or until nothing follows. */
  async #pull(): Promise<void> {
    const sent = this.#sent
    while (sent === this.#sent && !this.#left.signal.aborted) {
      const part = await this.#read()
      if (!part) {
        this.#to?.close()
        return
      }
      await this.#take(part)
    }
  }

  /** The next part of the present attempt, or of the one after it. `undefined`: the response has ended. */
  async #read(): Promise<Part | undefined> {
    for (;;) {
      let error: unknown
      try {
        const came = await this.#reader?.read()
        if (came?.value) return came.value
        if (this.#isLast || this.#isOver || this.#left.signal.aborted) return undefined
        error = cutOff()
      } catch (thrown) {
        // Nothing can be missing any more.
        if (this.#isOver) return undefined
        error = thrown
      }
      if (!this.#isRepeated(error)) throw this.#attempts.failure(error)
      await this.#reopen(error)
    }
  }

  async #take(part: Part): Promise<void> {
    if (part.type === 'finish' && !this.#isOver) await this.#finish(part)
    else if (part.type === 'error' && !this.#isOver) await this.#fail(part)
    else this.#shown.take(part)
  }

  async #fail(part: PartOf<'error'>): Promise<void> {
    const { error } = part
    if (!this.#isLast && this.#isRepeated(error)) {
      await this.#reopen(error)
      return
    }
    if (this.#attempts.count > 1) throw this.#attempts.failure(error)
    this.#isLast = true
    this.#send(part)
  }

  async #finish(part: Finish): Promise<void> {
    const { unified: reason } = part.finishReason
    this.#usage.add(part.usage)
    if (!this.#isLast && !this.#attempts.isAccepted(reason)) {
      const error = endedWith(reason)
      if (this.#isRepeated(error, reason)) {
        await this.#reopen(error)
        return
      }
    }
    this.#isOver = true
    this.#shown.stand()
    this.#send(this.#usage.on(part, this.#attempts.count))
  }

  /** Aborts when the whole call is aborted, or when the reader leaves. */
  get #signal(): AbortSignal {
    const { abortSignal } = this.#request
    return abortSignal ? AbortSignal.any([abortSignal, this.#left.signal]) : this.#left.signal
  }

  #isRepeated(error: unknown, finishReason?: string): boolean {
    return !this.#left.signal.aborted && this.#attempts.failed(error, this.#shown.characters, finishReason)
  }

  /** The stream of the next attempt takes the place of the present one. */
  async #reopen(error: unknown): Promise<void> {
    // From now on nobody who leaves may hear of its error.
    if (this.#reader) cancelled(this.#reader, error)
    this.#reader = undefined
    await this.#next(error)
    const { stream } = await this.open(this.#signal)
    this.#reader = stream.getReader()
  }

  async #next(error: unknown): Promise<void> {
    const warning = failedAttempt(this.#attempts, error, this.#shown.characters)
    await this.#attempts.next(this.#signal)
    this.#shown.again(warning)
  }

  #send(part: Part): void {
    this.#sent++
    this.#to?.enqueue(part)
  }
}

/** The SDK recognises an abort by the name of its error. A reason that the user has given may have none. */
function thrownTo({ abortSignal }: Request, error: unknown): unknown {
  if (!abortSignal?.aborted || isAbort(error) || isTimeout(error)) return error
  return new DOMException('The request was aborted.', { name: 'AbortError', cause: error })
}
