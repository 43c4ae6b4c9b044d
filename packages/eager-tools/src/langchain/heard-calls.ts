/**
 * A LangChain callback handler that reports the streamed tool calls of a response to the step. It delays and changes
 * nothing.
 */

import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import type { CallLabel } from '../host/heard-response.ts'
import type { HostCalls } from '../host/host-calls.ts'
import { isObject } from './library.ts'

/** A piece of a call, as it appears in LangChain's chunks and events. */
interface CallPiece {
  readonly index?: number | string | undefined
  readonly id?: string | undefined
  readonly name?: string | undefined
  readonly args?: string | undefined
}

interface HeardCall {
  readonly id: string | undefined
  readonly label: CallLabel
  /** How many characters of its arguments have arrived. */
  length: number
}

type Handles<Name extends keyof BaseCallbackHandler> = NonNullable<BaseCallbackHandler[Name]>

export class HeardCalls extends BaseCallbackHandler {
  override readonly name = 'eager-tools'
  /** Events are handled at once instead of in the background. */
  override awaitHandlers = true
  /** LangChain reads this: with `true`, the handler makes the model stream. */
  readonly lc_prefer_streaming: boolean
  readonly #calls: HostCalls
  readonly #seals: boolean
  readonly #attempt: number
  /** By index, or by id if there is no index. */
  readonly #open: Map<CallPiece['index'], HeardCall> = new Map()

  /** `seals`: a finished content block is final. */
  constructor(calls: HostCalls, { streams, seals }: { readonly streams: boolean; readonly seals: boolean }) {
    super({})
    this.#calls = calls
    this.#seals = seals
    this.#attempt = calls.attempt
    this.lc_prefer_streaming = streams
  }

  override handleLLMNewToken: Handles<'handleLLMNewToken'> = (_token, _at, _run, _parent, _tags, fields) =>
    this.#read(() => this.#chunk(fields?.chunk))

  /** The other way in which a model may stream: in content blocks. */
  override handleChatModelStreamEvent: Handles<'handleChatModelStreamEvent'> = (event) =>
    this.#read(() => this.#block(event))

  #read(hear: () => void): void {
    // A response that was given up may still arrive.
    if (this.#calls.attempt !== this.#attempt) return
    try {
      hear()
    } catch (error) {
      this.#calls.unreadable(error)
    }
  }

  #chunk(chunk: unknown): void {
    if (!isObject(chunk) || !('message' in chunk) || !isObject(chunk.message)) return
    const { message } = chunk
    if (!('tool_call_chunks' in message) || !Array.isArray(message.tool_call_chunks)) return
    for (const piece of message.tool_call_chunks) this.#hear(piece)
  }

  #block(event: Parameters<Handles<'handleChatModelStreamEvent'>>[0]): void {
    if (event.event === 'content-block-start') {
      if (event.content.type === 'tool_call_chunk') this.#hear({ ...event.content, index: event.index })
    } else if (event.event === 'content-block-delta') {
      const { delta } = event
      if (delta.type === 'tool-call-delta') this.#hear({ index: event.index, args: delta.args })
      else if (delta.type === 'block-delta') this.#snapshot(event.index, delta.fields)
    } else if (event.event === 'content-block-finish' && this.#seals) {
      const call = this.#open.get(event.index)
      if (call) this.#calls.seal(call.label)
    }
  }

  #hear({ index, id, name, args }: CallPiece): void {
    const key = index ?? id
    let call = key === undefined && name ? undefined : this.#open.get(key)
    if (!call || (id && call.id && call.id !== id)) {
      if (!name) return
      call = { id, label: this.#calls.begin(id, name), length: 0 }
      this.#open.set(key, call)
    }
    if (!args) return
    call.length += args.length
    this.#calls.delta(call.label, args)
  }

  /** The event contains all arguments received so far. */
  #snapshot(index: number, fields: { readonly type: string; readonly args?: unknown }): void {
    if (fields.type !== 'tool_call_chunk' || typeof fields.args !== 'string') return
    const heard = this.#open.get(index)?.length ?? 0
    this.#hear({ index, args: fields.args.slice(heard) })
  }
}
