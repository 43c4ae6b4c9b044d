/** The calls of a connection that wait for an answer. */

import { randomUUID } from 'node:crypto'
import { isRecord } from '@meanwhile/core/calls'
import type { Client, ElicitRequest, ElicitResult, Progress, Transport } from '@modelcontextprotocol/client'
import type { Sdk } from './sdk.ts'
import { withReadableContent } from './tolerance.ts'

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

/** A request that has no answer yet. */
interface Open {
  /** Goes into its `_meta`. */
  readonly meta: { readonly progressToken: string }
  over(): void
}

export class OpenCalls {
  /** By the progress token of the request, which is how requests and progress are told apart. */
  readonly #calls = new Map<unknown, OpenCall>()
  /** The requests that wait for an answer, by progress token. `lost` is called when the stream of the answer has ended; a request has its `id` once it is sent. */
  readonly #requests = new Map<unknown, { readonly lost: () => void; id?: string }>()
  /** The token of the call whose stream has sent this event last. */
  readonly #events = new Map<string, string>()
  #whenOver: (() => void) | undefined

  add(call: OpenCall): Open & { event(id: string): void } {
    const { meta, over } = this.addRequest(() => call.lost())
    const { progressToken } = meta
    let last = ''
    this.#calls.set(progressToken, call)
    return {
      meta,
      event: (id) => {
        // The client may read on when the call is over.
        if (!this.#calls.has(progressToken)) return
        this.#events.delete(last)
        this.#events.set(id, progressToken)
        last = id
      },
      over: () => {
        this.#events.delete(last)
        this.#calls.delete(progressToken)
        over()
      },
    }
  }

  /** Another request. `lost` is called when its answer is lost. */
  addRequest(lost: () => void): Open {
    const progressToken = randomUUID()
    this.#requests.set(progressToken, { lost })
    return {
      meta: { progressToken },
      over: () => {
        this.#requests.delete(progressToken)
        if (this.#requests.size === 0) this.#whenOver?.()
      },
    }
  }

  /** Calls the function when no request waits for its answer. */
  whenOver(then: () => void): void {
    this.#whenOver = then
    if (this.#requests.size === 0) then()
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
  watch(client: Client, transport: Transport, sdk: Sdk): void {
    const { onmessage } = transport
    const send = transport.send.bind(transport)
    // The client does not notice when an HTTP server dies while it answers: the request would wait for its time limit.
    transport.send = (message, options) => {
      const token = 'params' in message ? message.params?._meta?.progressToken : undefined
      const request = this.#requests.get(token)
      if (!request || !('id' in message)) return send(message, options)
      request.id = String(message.id)
      const onRequestStreamEnd = () => {
        options?.onRequestStreamEnd?.()
        // The answer may be the last that the stream had: the client passes it on in later microtasks.
        setImmediate(() => this.#requests.get(token)?.lost())
      }
      return send(message, { ...options, onRequestStreamEnd })
    }
    // The client would check each notification against many schemas, and a server may send very many.
    transport.onmessage = (message, extra) => {
      if (this.takes(message)) return
      const isOurs = 'id' in message && this.#hasRequest(String(message.id))
      onmessage?.(isOurs ? withReadableContent(message, sdk, client.getProtocolEra()) : message, extra)
    }
  }

  #hasRequest(id: string): boolean {
    for (const request of this.#requests.values()) if (request.id === id) return true
    return false
  }

  /** Whether a message is progress of an open call, which has then heard of it. */
  takes(message: unknown): boolean {
    if (!isRecord(message) || message.method !== 'notifications/progress' || !isRecord(message.params)) return false
    const call = this.#calls.get(message.params.progressToken)
    if (!call || !isProgress(message.params)) return false
    call.progress(message.params)
    return true
  }
}

function isProgress(value: object): value is Progress {
  const { progress, total = 0, message = '' }: Readonly<Record<string, unknown>> = { ...value }
  return Number.isFinite(progress) && Number.isFinite(total) && typeof message === 'string'
}
