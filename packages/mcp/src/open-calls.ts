/** The calls of a connection that wait for an answer. */

import { randomUUID } from 'node:crypto'
import { isRecord } from '@meanwhile/core/calls'
import type { ElicitRequest, ElicitResult, Progress, Transport } from '@modelcontextprotocol/client'

/** A call that waits for its answer. */
export interface OpenCall {
  /** The answer is lost. */
  lost(): void
  /** The stream of the answer was broken and is being resumed. */
  resumed(): void
  /** The server reports progress. */
  progress(reported: Progress): void
  /** The server asks a question. */
  elicit(request: ElicitRequest): Promise<ElicitResult>
  /** The server asks a question that nobody is asked. */
  decline(why: string): ElicitResult
}

export class OpenCalls {
  /** By the progress token of the request, which is how requests and progress are told apart. */
  readonly #calls = new Map<unknown, OpenCall>()
  /** The token of the call whose stream has sent this event last. */
  readonly #events = new Map<string, string>()

  add(call: OpenCall): { readonly meta: { readonly progressToken: string }; event(id: string): void; over(): void } {
    const progressToken = randomUUID()
    let last = ''
    this.#calls.set(progressToken, call)
    return {
      meta: { progressToken },
      event: (id) => {
        this.#events.delete(last)
        this.#events.set(id, progressToken)
        last = id
      },
      over: () => {
        this.#events.delete(last)
        this.#calls.delete(progressToken)
      },
    }
  }

  /** Answers a question of the 2025 protocol. It names no call, so only one call may be open. */
  async elicit(request: ElicitRequest): Promise<ElicitResult> {
    const [one, ...others] = this.#calls.values()
    if (one && others.length === 0) return await one.elicit(request)
    for (const call of this.#calls.values()) call.decline('it does not say which of its open calls it is about')
    return { action: 'decline' }
  }

  /** Called when the client resumes a stream after this event. */
  resumed(event: string): void {
    this.#calls.get(this.#events.get(event))?.resumed()
  }

  /** Listens to the transport of a connected client. */
  watch(transport: Transport): void {
    const { onmessage } = transport
    const send = transport.send.bind(transport)
    // The client does not notice when an HTTP server dies while it answers: the request would wait for its time limit.
    transport.send = (message, options) => {
      const call = 'params' in message ? this.#calls.get(message.params?._meta?.progressToken) : undefined
      if (!call) return send(message, options)
      const onRequestStreamEnd = () => {
        options?.onRequestStreamEnd?.()
        // The answer may be the last that the stream had: the client passes it on in later microtasks.
        setImmediate(() => call.lost())
      }
      return send(message, { ...options, onRequestStreamEnd })
    }
    // The client would check each notification against five schemas, and a server may send very many.
    transport.onmessage = (message, extra) => {
      const reported = 'method' in message && message.method === 'notifications/progress' ? message.params : undefined
      const call = this.#calls.get(reported?.progressToken)
      if (call && isProgress(reported)) call.progress(reported)
      else onmessage?.(message, extra)
    }
  }
}

function isProgress(value: unknown): value is Progress {
  if (!isRecord(value) || typeof value.progress !== 'number') return false
  const { total = 0, message = '' } = value
  return typeof total === 'number' && typeof message === 'string'
}
