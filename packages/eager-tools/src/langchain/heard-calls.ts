/** Hears what streams of a response, and tells the step of its calls. It waits for nothing and changes nothing. */

import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import type { CallLabel, HostCalls } from '../host/host-calls.ts'
import { isObject } from './library.ts'

/** A piece of a call, as chunks and events of LangChain have it. */
interface CallPiece {
  readonly index?: number | string | undefined
  readonly id?: string | undefined
  readonly name?: string | undefined
  readonly args?: string | undefined
}

interface HeardCall {
  readonly id: string | undefined
  readonly label: CallLabel
  /** How much of its arguments was heard. */
  length: number
}

type Handles<Name extends keyof BaseCallbackHandler> = NonNullable<BaseCallbackHandler[Name]>

export class HeardCalls extends BaseCallbackHandler {
  override readonly name = 'eager-tools'
  /** What is heard is told at once, not when there is time. */
  override awaitHandlers = true
  /** LangChain reads it: the model is asked for a stream because of this handler. */
  readonly lc_prefer_streaming: boolean
  readonly #calls: HostCalls
  readonly #seals: boolean
  /** By index, or by id where there is none. */
  readonly #open: Map<CallPiece['index'], HeardCall> = new Map()

  /** `seals`: a block that has finished says that nothing of the call will change. */
  constructor(calls: HostCalls, { streams, seals }: { readonly streams: boolean; readonly seals: boolean }) {
    super({})
    this.#calls = calls
    this.#seals = seals
    this.lc_prefer_streaming = streams
  }

  override handleLLMNewToken: Handles<'handleLLMNewToken'> = (_token, _at, _run, _parent, _tags, fields) => {
    const chunk: unknown = fields?.chunk
    if (!isObject(chunk) || !('message' in chunk) || !isObject(chunk.message)) return
    const { message } = chunk
    if (!('tool_call_chunks' in message) || !Array.isArray(message.tool_call_chunks)) return
    for (const piece of message.tool_call_chunks) this.#hear(piece)
  }

  /** The other way in which a model may stream: in blocks. */
  override handleChatModelStreamEvent: Handles<'handleChatModelStreamEvent'> = (event) => {
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

  /** All of the arguments so far. */
  #snapshot(index: number, fields: { readonly type: string; readonly args?: unknown }): void {
    if (fields.type !== 'tool_call_chunk' || typeof fields.args !== 'string') return
    const heard = this.#open.get(index)?.length ?? 0
    this.#hear({ index, args: fields.args.slice(heard) })
  }
}
