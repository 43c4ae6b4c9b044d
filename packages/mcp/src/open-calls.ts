/** The calls of a connection that wait for an answer. */

import { randomUUID } from 'node:crypto'
import type { ElicitRequest, ElicitResult, Transport } from '@modelcontextprotocol/client'

/** A call that waits for its answer. */
export interface OpenCall {
  /** The answer is lost. */
  lost(): void
  /** The stream of the answer was broken and is being resumed. */
  resumed(): void
  /** The server asks a question. */
  elicit(request: ElicitRequest): Promise<ElicitResult>
  /** The server asks a question that nobody is asked. */
  decline(why: string): ElicitResult
}

/** The member of `_meta` by which a request is found. It is never sent. */
const MARK = 'dev.meanwhile/call'

export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>()
  /** The call whose stream has sent this event last. */
  readonly #events = new Map<string, string>()

  add(call: OpenCall): { readonly meta: Record<string, string>; event(id: string): void; over(): void } {
    const mark = randomUUID()
    let last = ''
    this.#calls.set(mark, call)
    return {
      meta: { [MARK]: mark },
      event: (id) => {
        this.#events.delete(last)
        this.#events.set(id, mark)
        last = id
      },
      over: () => {
        this.#events.delete(last)
        this.#calls.delete(mark)
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
    this.#calls.get(this.#events.get(event) ?? '')?.resumed()
  }

  /**
   * Notices when the stream of an answer ends. The client does not: when an HTTP server dies while it answers, the request waits for its time limit.
   */
  watch(transport: Transport): void {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => {
      const mark = 'params' in message ? takeMark(message.params) : undefined
      if (mark === undefined) return send(message, options)
      const onRequestStreamEnd = () => {
        options?.onRequestStreamEnd?.()
        // The answer may be the last that the stream had: the client passes it on in later microtasks.
        setImmediate(() => this.#calls.get(mark)?.lost())
      }
      return send(message, { ...options, onRequestStreamEnd })
    }
  }
}

function takeMark(params: { readonly _meta?: Record<string, unknown> | undefined } | undefined): string | undefined {
  const mark = params?._meta?.[MARK]
  if (typeof mark !== 'string') return undefined
  delete params?._meta?.[MARK]
  return mark
}
