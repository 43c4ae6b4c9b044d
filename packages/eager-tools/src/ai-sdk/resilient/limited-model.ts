/** The same model, whose responses fail when they are silent for too long. */

import { TimeoutError } from '@meanwhile/core'
import { follow } from '@meanwhile/core/calls'
import type { SilenceLimits } from '../../resilient/options.ts'
import { Silence } from '../../resilient/silence.ts'
import type { Model } from '../resolved-model.ts'
import { withMethods } from '../with-methods.ts'
import { isOutput, type Part, type Request, type StreamedAnswer } from './parts.ts'

/** Its responses also end at once when the request is aborted, even if the model does not react. */
export function limitedModel(model: Model, limits: SilenceLimits): Model {
  return withMethods(model, { doStream: (request) => new LimitedRequest(limits, request).answeredBy(model) })
}

/** Nothing is read ahead: each part is read when the reader requests it. */
class LimitedRequest {
  readonly #request: Request
  /** Ends the request: for the silence of its response, or because the whole call was aborted. */
  readonly #end = new AbortController()
  readonly #silence: Silence
  readonly #unfollow: () => void

  constructor(limits: SilenceLimits, request: Request) {
    const { abortSignal } = request
    this.#request = request
    this.#silence = new Silence(limits, (limit) => this.#end.abort(new TimeoutError('idle', limit)))
    if (abortSignal?.aborted) this.#end.abort(abortSignal.reason)
    this.#unfollow = abortSignal ? follow(abortSignal, () => this.#end.abort(abortSignal.reason)) : () => undefined
  }

  async answeredBy(model: Model): Promise<StreamedAnswer> {
    const { signal } = this.#end
    this.#silence.waits()
    try {
      const asked = Promise.resolve(model.doStream({ ...this.#request, abortSignal: signal }))
      const answer = await Promise.race([asked, this.#ended(asked)])
      this.#silence.came(false)
      return { ...answer, stream: this.#limited(answer.stream) }
    } catch (error) {
      this.#over()
      throw error
    }
  }

  /** Rejects when the request is ended. A response that comes later is cancelled. */
  #ended(asked: Promise<StreamedAnswer>): Promise<never> {
    const { signal } = this.#end
    return new Promise((_, reject) => {
      const end = () => {
        reject(signal.reason)
        asked.then(
          ({ stream }) => cancelled(stream, signal.reason),
          () => undefined,
        )
      }
      if (signal.aborted) end()
      else signal.addEventListener('abort', end, { once: true })
      asked.then(
        () => signal.removeEventListener('abort', end),
        () => undefined,
      )
    })
  }

  #limited(stream: ReadableStream<Part>): ReadableStream<Part> {
    const reader = stream.getReader()
    const { signal } = this.#end
    let to: ReadableStreamDefaultController<Part>
    const came = ({ done, value }: Awaited<ReturnType<typeof reader.read>>) => {
      if (signal.aborted) return
      if (done) {
        this.#over()
        to.close()
        return
      }
      this.#silence.came(isOutput(value))
      to.enqueue(value)
    }
    const failed = (error: unknown) => {
      if (signal.aborted) return
      this.#over()
      to.error(error)
    }
    return new ReadableStream<Part>(
      {
        start: (controller) => {
          to = controller
          const end = () => {
            this.#over()
            to.error(signal.reason)
            cancelled(reader, signal.reason)
          }
          if (signal.aborted) end()
          else signal.addEventListener('abort', end, { once: true })
        },
        // Not an async function, which would delay each part.
        pull: () => {
          this.#silence.waits()
          return reader.read().then(came, failed)
        },
        cancel: (reason) => {
          this.#over()
          return reader.cancel(reason)
        },
      },
      { highWaterMark: 0 },
    )
  }

  #over(): void {
    this.#silence.stop()
    this.#unfollow()
  }
}

/** Cancels, and hears of no error of it. */
export function cancelled(stream: Pick<ReadableStream<Part>, 'cancel'>, reason: unknown): void {
  stream.cancel(reason).catch(() => undefined)
}
