/** Passes a response stream on unchanged, and reports its tool calls to the step. */

import type { CallLabel } from '../host/heard-response.ts'
import type { HostCalls } from '../host/host-calls.ts'
import type { StreamPart } from './sdk.ts'

/** Finish reasons after which the AI SDK executes tools. */
const ALLOWED: ReadonlySet<unknown> = new Set(['stop', 'tool-calls'])

/**
 * The SDK asks for the approval of a call before it has read more than this many parts after it. It reads on only if it
 * may retry the response: then it asks when the response has ended.
 */
const READ_AHEAD = 2

export interface WatchedStreamOptions {
  /** A `tool-call` part is final. */
  readonly seals: boolean
  /** If the calls of the response must not be executed, another one may be requested in its place. */
  readonly mayRepeat: boolean
  /** The response stands now. `passed`: the ids of calls after which the SDK has read on. */
  stands(passed: ReadonlySet<string | undefined>): void
}

/** Nothing is read ahead and nothing is delayed: each part is read when the reader requests it. */
export function watchedStream(
  stream: ReadableStream<StreamPart>,
  calls: HostCalls,
  options: WatchedStreamOptions,
): ReadableStream<StreamPart> {
  const reader = stream.getReader()
  const heard = new HeardParts(calls, options)
  const { attempt } = calls
  /** Another response was requested in the place of this one. */
  const isReplaced = () => calls.attempt !== attempt
  let to: ReadableStreamDefaultController<StreamPart>
  const came = ({ done, value }: Awaited<ReturnType<typeof reader.read>>) => {
    if (done) {
      // Without a finish part the response has failed.
      if (!isReplaced()) calls.failed()
      to.close()
      return
    }
    try {
      if (!isReplaced()) heard.hear(value)
    } catch (error) {
      calls.unreadable(error)
    }
    to.enqueue(value)
  }
  const failed = (error: unknown) => {
    if (!isReplaced()) calls.failed()
    to.error(error)
  }
  return new ReadableStream<StreamPart>(
    {
      start(controller) {
        to = controller
      },
      // Not an async function, which would delay each part.
      pull: () => reader.read().then(came, failed),
      cancel(reason) {
        // The SDK cancels before it retries. Once the response is accepted, its calls are running.
        if (isReplaced()) return reader.cancel(reason)
        if (heard.hasError) calls.failed()
        else if (calls.stage === 'streaming') void calls.release('run_aborted', reason)
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

interface OpenCall {
  readonly label: CallLabel
  hasText: boolean
  /** The part with the whole call has not arrived yet. */
  isOpen: boolean
}

class HeardParts {
  /** The provider has reported an error. The SDK either retries, or reads on and executes the calls at the end. */
  hasError = false
  readonly #calls: HostCalls
  readonly #options: WatchedStreamOptions
  #parts = 0
  /** By the id of a call: how many parts there were when it was whole. */
  readonly #whole: Map<string | undefined, number> = new Map()
  /** By id. Ids may be repeated, so each has a list in the order of the starts. */
  readonly #open: Map<string | undefined, OpenCall[]> = new Map()

  constructor(calls: HostCalls, options: WatchedStreamOptions) {
    this.#calls = calls
    this.#options = options
  }

  hear(part: StreamPart): void {
    this.#parts++
    switch (part.type) {
      case 'tool-input-start':
        if (!part.providerExecuted) this.#begin(part.id, part.toolName)
        break
      case 'tool-input-delta': {
        const call = this.#open.get(part.id)?.at(-1)
        if (!call || !part.delta) break
        call.hasText = true
        this.#calls.delta(call.label, part.delta)
        break
      }
      case 'tool-call':
        if (!part.providerExecuted) this.#hearWhole(part)
        break
      case 'error':
        this.hasError = true
        break
      case 'finish': {
        const { finishReason } = part
        const reason = typeof finishReason === 'object' ? finishReason.unified : finishReason
        if (ALLOWED.has(reason)) this.#stood()
        else if (this.#options.mayRepeat) this.#calls.failed()
        else void this.#calls.release('stream_truncated')
      }
    }
  }

  #begin(id: string | undefined, name = ''): OpenCall {
    const call = { label: this.#calls.begin(id, name), hasText: false, isOpen: true }
    const known = this.#open.get(id)
    if (known) known.push(call)
    else this.#open.set(id, [call])
    return call
  }

  #stood(): void {
    const passed = [...this.#whole].filter(([, at]) => this.#parts - at > READ_AHEAD).map(([id]) => id)
    this.#options.stands(new Set(passed))
    this.#calls.stood()
  }

  #hearWhole({ toolCallId, toolName, input }: StreamPart): void {
    this.#whole.set(toolCallId, this.#parts)
    const call = this.#open.get(toolCallId)?.find(({ isOpen }) => isOpen) ?? this.#begin(toolCallId, toolName)
    call.isOpen = false
    // Empty arguments mean `{}`.
    const text = typeof input === 'string' ? input.trim() || '{}' : JSON.stringify(input ?? {})
    if (this.#options.seals) this.#calls.seal(call.label, text)
    else if (call.hasText) this.#calls.restate(call.label, text)
    else this.#calls.delta(call.label, text)
  }
}
