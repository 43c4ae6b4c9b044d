/** The transport of a page over threads: it tells the server which message is replaced, and when the user stops. */

import {
  type ChatTransport,
  DefaultChatTransport,
  type HttpChatTransportInitOptions,
  type UIMessage,
  type UIMessageChunk,
} from 'ai'
import { PageHistory, type ShownMessage } from './page-history.ts'

export { ReplacedBranchError } from './page-history.ts'

/** The options of `threadTransport`: those of `DefaultChatTransport`, and `loaded`. */
export interface ThreadTransportOptions<Message extends UIMessage> extends HttpChatTransportInitOptions<Message> {
  /** The messages with which the page begins: then also its first request can replace one of them. With it, make a transport for each chat. */
  readonly loaded?: readonly ShownMessage[]
}

/**
 * A transport for `useChat`, instead of `DefaultChatTransport`, for the routes of `chatHandler`.
 *
 * - If the page has cut its list before it sends a message, as assistant-ui does for an edit, the message replaces the first user message that was cut.
 * - If the page shows messages that the server no longer has, such as an earlier branch, a request rejects with `ReplacedBranchError`.
 * - If the page aborts, as the stop button of `useChat` does, it also stops the turn. The next message is sent after that. A stop
 *   before the response has begun waits until the server has the message.
 *   A connection that breaks stops nothing, and neither does an abort before a resumed stream has begun.
 */
export function threadTransport<Message extends UIMessage = UIMessage>(
  options: ThreadTransportOptions<Message> = {},
): ChatTransport<Message> {
  return new ThreadTransport(options)
}

type SendOptions<Message extends UIMessage> = Parameters<ChatTransport<Message>['sendMessages']>[0]
type ReconnectOptions<Message extends UIMessage> = Parameters<ChatTransport<Message>['reconnectToStream']>[0]

class ThreadTransport<Message extends UIMessage> extends DefaultChatTransport<Message> {
  readonly #loaded: readonly ShownMessage[]
  readonly #histories = new Map<string, PageHistory>()
  /** The last stop of each chat. Never rejects. */
  readonly #stops = new Map<string, Promise<void>>()

  constructor({ loaded = [], ...options }: ThreadTransportOptions<Message>) {
    super(options)
    this.#loaded = loaded
  }

  override async sendMessages(options: SendOptions<Message>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, trigger, headers, abortSignal } = options
    await unlessAborted(this.#stops.get(chatId) ?? Promise.resolve(), abortSignal)
    abortSignal?.throwIfAborted()
    const history = this.#historyOf(chatId)
    const { replacing, commit } = history.changeTo(messages, trigger, options.messageId)
    const connection = new AbortController()
    const messageId = replacing ?? options.messageId
    const begun = super.sendMessages({ ...options, messageId, abortSignal: connection.signal })
    // A stop that arrives before the message would not find its turn.
    const { end } = onAbort(abortSignal, () => {
      this.#stops.set(
        chatId,
        begun.then(
          () => {
            connection.abort(abortSignal?.reason)
            return this.#stop(chatId, headers)
          },
          () => undefined,
        ),
      )
    })
    void begun.then(commit, end)
    return followed(await unlessAborted(begun, abortSignal), history, end)
  }

  override async reconnectToStream(options: ReconnectOptions<Message>): Promise<ReadableStream<UIMessageChunk> | null> {
    const { chatId, abortSignal } = options
    const stream = await super.reconnectToStream(options)
    if (!stream) return stream
    const { end } = onAbort(abortSignal, () => void this.#stops.set(chatId, this.#stop(chatId, options.headers)))
    return followed(stream, this.#historyOf(chatId), end)
  }

  #historyOf(chatId: string): PageHistory {
    const history = this.#histories.get(chatId) ?? new PageHistory(this.#loaded)
    this.#histories.set(chatId, history)
    return history
  }

  async #stop(chatId: string, given: SendOptions<Message>['headers']): Promise<void> {
    const { headers, credentials } = this
    const own = await (typeof headers === 'function' ? headers() : headers)
    const sent = await (typeof credentials === 'function' ? credentials() : credentials)
    const all = new Headers(own)
    new Headers(given).forEach((value, name) => {
      all.set(name, value)
    })
    // JSON, because a page of another site that may use the chat must send its stops so.
    all.set('content-type', 'application/json')
    const url = this.api.replace(/\/?(\?.*)?$/, `/${encodeURIComponent(chatId)}/stop$1`)
    const request = { method: 'POST', headers: all, body: '{}', ...(sent && { credentials: sent }) }
    try {
      await (this.fetch ?? globalThis.fetch)(url, request)
    } catch {
      // The turn continues, as the page shows when it is loaded again.
    }
  }
}

/** Calls `react` if the signal aborts before `end` is called. */
function onAbort(signal: AbortSignal | undefined, react: () => void): { end(): void } {
  signal?.addEventListener('abort', react, { once: true })
  return { end: () => signal?.removeEventListener('abort', react) }
}

/** Rejects at once if the signal has aborted, or aborts first. */
function unlessAborted<Value>(value: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const { end } = onAbort(signal, () => reject(signal?.reason))
    value.then(resolve, reject).finally(end)
  })
}

/** Notes the message of the turn, and calls `ended` at the end of the stream. */
function followed(
  stream: ReadableStream<UIMessageChunk>,
  history: PageHistory,
  ended: () => void,
): ReadableStream<UIMessageChunk> {
  return stream.pipeThrough(
    new TransformStream<UIMessageChunk, UIMessageChunk>({
      transform(chunk, controller) {
        if (chunk.type === 'start' && chunk.messageId !== undefined) history.answered(chunk.messageId)
        controller.enqueue(chunk)
      },
      flush: ended,
    }),
  )
}
