/** The stream of a response, as it is. What it says of calls is told to the step on the way. */

import type { CallLabel, HostCalls } from '../host/host-calls.ts'
import type { StreamPart } from './sdk.ts'

/** Finish reasons after which the AI SDK executes tools. */
const ALLOWED: ReadonlySet<unknown> = new Set(['stop', 'tool-calls'])

/**
 * Nothing is read ahead and nothing is waited for: a part is asked for when it is asked for here. `seals`: a `tool-call` part says that
 * nothing of the call will change.
 */
export function watchedStream(
  stream: ReadableStream<StreamPart>,
  calls: HostCalls,
  seals: boolean,
): ReadableStream<StreamPart> {
  const reader = stream.getReader()
  const heard = new HeardParts(calls, seals)
  let to: ReadableStreamDefaultController<StreamPart>
  const came = ({ done, value }: { readonly done: boolean; readonly value?: StreamPart | undefined }) => {
    if (done || !value) {
      // It has ended without a finish, unless it had stood.
      calls.failed()
      to.close()
      return
    }
    heard.hear(value)
    to.enqueue(value)
  }
  const failed = (error: unknown) => {
    calls.failed()
    to.error(error)
  }
  return new ReadableStream<StreamPart>(
    {
      start(controller) {
        to = controller
      },
      // No async function: each part would wait for it.
      pull: () => reader.read().then(came, failed),
      cancel(reason) {
        // After a failure it makes room for another attempt; once the response has stood, its calls are at work.
        if (calls.stage === 'streaming') void calls.release('run_aborted', reason)
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

interface OpenCall {
  readonly label: CallLabel
  hasText: boolean
  /** The part with all of it has not come. */
  isOpen: boolean
}

class HeardParts {
  readonly #calls: HostCalls
  readonly #seals: boolean
  /** By id, which may come twice: in the order of their starts. */
  readonly #open: Map<string | undefined, OpenCall[]> = new Map()

  constructor(calls: HostCalls, seals: boolean) {
    this.#calls = calls
    this.#seals = seals
  }

  hear(part: StreamPart): void {
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
        if (!part.providerExecuted) this.#whole(part)
        break
      case 'error':
        this.#calls.failed()
        break
      case 'finish': {
        const { finishReason } = part
        const reason = typeof finishReason === 'object' ? finishReason.unified : finishReason
        if (ALLOWED.has(reason)) this.#calls.stood()
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

  #whole({ toolCallId, toolName, input }: StreamPart): void {
    const call = this.#open.get(toolCallId)?.find(({ isOpen }) => isOpen) ?? this.#begin(toolCallId, toolName)
    call.isOpen = false
    // No arguments mean `{}`.
    const text = typeof input === 'string' ? input.trim() || '{}' : JSON.stringify(input ?? {})
    if (this.#seals) this.#calls.seal(call.label, text)
    else if (call.hasText) this.#calls.restate(call.label, text)
    else this.#calls.delta(call.label, text)
  }
}
