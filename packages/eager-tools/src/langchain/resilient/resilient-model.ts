/** One chat model over several. */

import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { BaseChatModel, type BindToolsInput } from '@langchain/core/language_models/chat_models'
import {
  type AIMessageChunk,
  type BaseMessage,
  isBaseMessageChunk,
  mergeUsageMetadata,
  type UsageMetadata,
} from '@langchain/core/messages'
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs'
import type { Runnable } from '@langchain/core/runnables'
import { ConfigError } from '@meanwhile/core'
import { Attempts } from '../../resilient/attempts.ts'
import { BROKEN, cutOff, endedWith } from '../../resilient/failure.ts'
import { joinedEvents } from '../../resilient/joined-events.ts'
import { limitedEvents } from '../../resilient/limited-events.ts'
import type { AttemptRules, Models, SilenceLimits } from '../../resilient/options.ts'
import { blockEvents } from './block-events.ts'
import { chunkOf, isOutput, reasonOf } from './chunks.ts'
import { type Observe, setInside } from './inside.ts'
import { ShownChunks } from './shown-chunks.ts'

export interface ModelRules extends AttemptRules<BaseChatModel>, SilenceLimits {
  /** A response without a finish reason is cut off. */
  readonly finishes: boolean
}

/** A given model, and the same one with its tools. */
interface Bound {
  readonly given: BaseChatModel
  readonly bound: Pick<Runnable<BaseMessage[], BaseMessage>, 'stream'>
}

/** Options with which a provider writes JSON. */
const JSON_OPTIONS = ['response_format', 'outputConfig', 'responseSchema', 'ls_structured_output_format']

type CallOptions = BaseChatModel['ParsedCallOptions']
type Run = Parameters<BaseChatModel['_streamResponseChunks']>[2]

export class ResilientModel extends BaseChatModel {
  readonly #models: Models<Bound>
  readonly #rules: ModelRules
  readonly #observe: Observe | undefined

  constructor(rules: ModelRules, models?: Models<Bound>, observe?: Observe) {
    super({})
    const [first, ...others] = rules.given
    const asGiven = (given: BaseChatModel): Bound => ({ given, bound: given })
    this.#rules = rules
    this.#models = models ?? [asGiven(first), ...others.map(asGiven)]
    this.#observe = observe
    setInside(this, {
      observedBy: (observe) => new ResilientModel(rules, this.#models, observe),
      silence: Math.max(rules.idle, rules.firstOutput),
    })
  }

  override _llmType(): string {
    return 'resilient'
  }

  // It is the first model to others.

  get #first(): BaseChatModel {
    return this.#rules.given[0]
  }

  override getName(suffix?: string): string {
    return this.#first.getName(suffix)
  }

  override get profile(): BaseChatModel['profile'] {
    return this.#first.profile
  }

  override getLsParams(options: CallOptions): ReturnType<BaseChatModel['getLsParams']> {
    return this.#first.getLsParams(options)
  }

  override invocationParams(options?: CallOptions): ReturnType<BaseChatModel['invocationParams']> {
    return this.#first.invocationParams(options)
  }

  override bindTools(tools: BindToolsInput[], options?: Partial<CallOptions>): ResilientModel {
    const withTools = ({ given }: Bound): Bound => {
      if (!given.bindTools) throw new ConfigError('models', `must have bindTools, and ${given.getName()} has not`)
      return { given, bound: given.bindTools(tools, options) }
    }
    const [first, ...others] = this.#models
    const rules = { ...this.#rules, hold: this.#rules.hold || asksForJson(options) }
    return new ResilientModel(rules, [withTools(first), ...others.map(withTools)], this.#observe)
  }

  override async _generate(messages: BaseMessage[], options: CallOptions): Promise<ChatResult> {
    let all: ChatGenerationChunk | undefined
    for await (const chunk of this._streamResponseChunks(messages, options)) all = all?.concat(chunk) ?? chunk
    if (!all) throw new Error('the response is empty')
    return { generations: [all] }
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: CallOptions,
    run?: Run,
  ): AsyncGenerator<ChatGenerationChunk> {
    const at = { prompt: 0, completion: 0 }
    for await (const message of this.#joined(messages, options)) {
      const chunk = new ChatGenerationChunk({ text: message.text, message })
      yield chunk
      await run?.handleLLMNewToken(chunk.text, at, undefined, undefined, undefined, { chunk })
    }
  }

  override _streamChatModelEvents(
    messages: BaseMessage[],
    options: CallOptions,
  ): ReturnType<BaseChatModel['_streamChatModelEvents']> {
    return blockEvents(this.#joined(messages, options))
  }

  #joined(messages: BaseMessage[], options: CallOptions): AsyncGenerator<AIMessageChunk> {
    const attempts = new Attempts(this.#models, this.#rules, options.signal)
    // JSON is read as one text, which cannot begin a second time.
    const shown = new ShownChunks(this.#rules.hold || asksForJson(options))
    return joinedEvents(attempts, shown, (model) => this.#asked(model, messages, options, shown))
  }

  async *#asked(
    model: Bound,
    messages: BaseMessage[],
    options: CallOptions,
    shown: ShownChunks,
  ): AsyncGenerator<AIMessageChunk> {
    const observer = this.#observe?.(model.given)
    // The callbacks of the call hear the joined response only.
    const callbacks = [new Untraced(), ...(observer ? [observer.handler] : [])]
    // Silence is an error below the observer: an abort from above would mean that nobody wants the response.
    const limited = limitedEvents((signal) => streamed(model, messages, { ...options, signal, callbacks }), {
      limits: this.#rules,
      signal: options.signal,
      isOutput: ({ message }) => isOutput(message),
    })
    try {
      yield* wholeMessages(limited, this.#rules.finishes, (usage) => shown.reported(usage))
    } catch (error) {
      observer?.failed()
      throw error
    }
  }
}

/** Keeps LangChain from adding its tracer, which would report each attempt as another run. */
class Untraced extends BaseCallbackHandler {
  override readonly name = 'langchain_tracer'

  /** LangChain calls it on its tracer. */
  updateFromRunTree(): void {}
}

/** A chunk, and why the response has ended with it. */
interface Piece {
  readonly message: AIMessageChunk
  readonly reason: string | undefined
}

async function* streamed({ bound }: Bound, messages: BaseMessage[], options: object): AsyncGenerator<Piece> {
  for await (const message of await bound.stream(messages, options)) {
    const chunk = chunkOf(message)
    // A model that does not stream returns the whole message.
    yield { message: chunk, reason: isBaseMessageChunk(message) ? reasonOf(chunk) : 'stop' }
  }
}

/** Throws unless the response has ended well. `reports`: called before, if a response that does not count has usage. */
async function* wholeMessages(
  pieces: AsyncIterable<Piece>,
  finishes: boolean,
  reports: (usage: UsageMetadata) => void,
): AsyncGenerator<AIMessageChunk> {
  let end: string | undefined
  let usage: UsageMetadata | undefined
  for await (const { message, reason } of pieces) {
    end = reason ?? end
    if (message.usage_metadata) usage = mergeUsageMetadata(usage, message.usage_metadata)
    yield message
  }
  if (finishes && end === undefined) throw cutOff('finish reason (if the provider sends none, set finishes: false)')
  if (end === undefined || !BROKEN.has(end)) return
  if (usage) reports(usage)
  throw endedWith(end)
}

function asksForJson(options: object = {}): boolean {
  return JSON_OPTIONS.some((name) => Reflect.get(options, name) !== undefined)
}
