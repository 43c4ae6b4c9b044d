/** LangChain's chat models whose responses break off, and what the reader of an agent's run gets. */

import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import {
  AIMessage,
  AIMessageChunk,
  type AIMessageChunkFields,
  type BaseMessage,
  type UsageMetadata,
} from '@langchain/core/messages'
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs'
import { createAgent, tool } from 'langchain'
import { vi } from 'vitest'
import { z } from 'zod'
import { human } from './langchain.ts'

/** LangChain infers no usage for a message of any structure. */
interface Fields extends Omit<AIMessageChunkFields, 'usage_metadata'> {
  readonly usage_metadata?: UsageMetadata
}

/** A step of a played response: emit a chunk, wait, break off, or stay silent forever. */
export type Step =
  | { readonly chunk: Fields }
  | { readonly wait: number }
  | { readonly breaks: unknown }
  | { readonly stalls: true }

export const breaks = (error: unknown = new Error('socket hang up')): Step => ({ breaks: error })
export const stalls: Step = { stalls: true }

/** A text in these pieces. */
export const says = (id: string | undefined, ...pieces: readonly string[]): Step[] =>
  pieces.map((content) => ({ chunk: { content, ...(id !== undefined && { id }) } }))

/** A call with its arguments in pieces. */
export function calls(index: number, id: string, name: string, args: object): Step[] {
  const pieces = JSON.stringify(args).match(/.{1,6}/g) ?? []
  const chunk = (piece: object): Step => ({
    chunk: { content: '', tool_call_chunks: [{ type: 'tool_call_chunk', index, ...piece }] },
  })
  return [chunk({ id, name, args: '' }), ...pieces.map((piece) => chunk({ args: piece }))]
}

export const finish = (finish_reason = 'stop'): Step => ({
  chunk: {
    content: '',
    response_metadata: { finish_reason },
    usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  },
})

/** The end of a response that does not count, and that reports no usage. */
export const endsBadly: Step = { chunk: { content: '', response_metadata: { finish_reason: 'error' } } }

/** A response with a text, two calls of `look` and one of `send`, under other ids for each number. */
export const answer = (number: number): Step[] => [
  ...says(`m${number}`, 'Let me ', 'look.'),
  ...calls(0, `${number}a`, 'look', { q: 'a' }),
  ...calls(1, `${number}b`, 'look', { q: 'b' }),
  ...calls(2, `${number}c`, 'send', { to: 'ada' }),
  finish('tool_calls'),
]

/** A response that says this text. */
export const said = (id: string, ...pieces: readonly string[]): Step[] => [...says(id, ...pieces), finish()]

/** Plays one list of steps for each request; the last one is repeated. It does not react to an abort. */
export class Played extends BaseChatModel {
  /** The options of each request. */
  readonly requests: object[] = []
  readonly #responses: readonly (readonly Step[])[]
  readonly #name: string

  constructor(responses: readonly (readonly Step[])[], name = 'played') {
    super({})
    this.#responses = responses
    this.#name = name
  }

  override _llmType(): string {
    return 'played'
  }

  override getName(): string {
    return this.#name
  }

  override bindTools(tools: unknown[], options: object = {}): ReturnType<NonNullable<BaseChatModel['bindTools']>> {
    const own: object = { ...options, tools }
    return this.withConfig(own)
  }

  override async _generate(messages: BaseMessage[], options: this['ParsedCallOptions']): Promise<ChatResult> {
    let all: ChatGenerationChunk | undefined
    for await (const chunk of this._streamResponseChunks(messages, options)) all = all?.concat(chunk) ?? chunk
    if (!all) throw new Error('the response is empty')
    const { id, response_metadata } = all.message
    const { tool_calls = [] } = AIMessage.isInstance(all.message) ? all.message : {}
    const fields = { content: all.text, tool_calls, response_metadata, ...(id !== undefined && { id }) }
    return { generations: [{ text: all.text, message: new AIMessage(fields) }] }
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    run?: Parameters<BaseChatModel['_streamResponseChunks']>[2],
  ): AsyncGenerator<ChatGenerationChunk> {
    const steps = this.#responses[Math.min(this.requests.push(options) - 1, this.#responses.length - 1)] ?? []
    for (const step of steps) {
      if ('breaks' in step) throw step.breaks
      if ('stalls' in step) await new Promise(() => undefined)
      else if ('wait' in step) await new Promise((resolve) => setTimeout(resolve, step.wait))
      else {
        const message = new AIMessageChunk({ ...step.chunk } as AIMessageChunkFields)
        const chunk = new ChatGenerationChunk({ text: message.text, message })
        const at = { prompt: 0, completion: 0 }
        // Some models report a chunk before anybody has read it, even after an abort.
        await run?.handleLLMNewToken(chunk.text, at, undefined, undefined, undefined, { chunk })
        yield chunk
      }
    }
  }
}

export const model = (responses: readonly (readonly Step[])[], name?: string): Played => new Played(responses, name)

/** What the reader of a run gets. */
export interface Came {
  /** The text of the model as it was shown. */
  readonly shown: string
  /** The ids of the shown text, in order. */
  readonly ids: readonly (string | undefined)[]
  readonly ran: readonly string[]
  /** The last state, without the ids of LangChain's runs. */
  readonly messages: readonly BaseMessage[]
  readonly text: string | undefined
  readonly error: unknown
}

/** The messages without ids, and calls without those of their attempt. */
export const outline = (messages: readonly BaseMessage[]): readonly unknown[] =>
  messages.map((message) => ({
    type: message.type,
    text: message.text,
    calls: AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [],
    tokens: AIMessage.isInstance(message) ? tokensOf(message.usage_metadata) : undefined,
    finish: message.response_metadata.finish_reason,
  }))

const tokensOf = (usage: UsageMetadata | undefined) => usage?.total_tokens

export interface AgentOptions {
  readonly model: BaseChatModel
  readonly tools: readonly object[]
}

export interface Options {
  readonly agent?: object
  readonly config?: object
  /** How long a tool runs. */
  readonly ms?: number
  readonly change?: (options: AgentOptions) => object
  /** Called when a tool begins. */
  readonly began?: (name: string) => unknown
  /** The run is read in content blocks; then nothing is `shown`. */
  readonly inBlocks?: boolean
}

const looked = z.object({ q: z.string() })
const sent = z.object({ to: z.string() })

/** Streams a run of an agent with two tools. */
export async function run(of: BaseChatModel, options: Options = {}): Promise<Came> {
  const { agent = {}, config = {}, ms = 0, change = (same) => same, began } = options
  const ran: string[] = []
  const toolOf = <Shape extends z.ZodObject>(name: string, schema: Shape) =>
    tool(
      async (input: object) => {
        ran.push(`${name} ${Object.values(input).join()}`)
        began?.(name)
        if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
        return `${name} done`
      },
      { name, description: name, schema },
    )
  const tools = [toolOf('look', looked), toolOf('send', sent)]
  const given = { model: of, tools, ...agent }
  const made = createAgent(change(given) as Parameters<typeof createAgent>[0])
  const going = options.inBlocks ? cameInBlocks(made, ran) : came(made, config, ran)
  await vi.runAllTimersAsync()
  return going
}

async function came(agent: ReturnType<typeof createAgent>, config: object, ran: readonly string[]): Promise<Came> {
  let shown = ''
  let error: unknown
  let messages: readonly BaseMessage[] = []
  const ids: (string | undefined)[] = []
  try {
    for await (const [mode, value] of await agent.stream(human(), { ...config, streamMode: ['messages', 'values'] })) {
      if (mode === 'values') {
        if (shown !== '' && !shown.endsWith('|') && value.messages.at(-1)?.type === 'ai') shown += '|'
        messages = value.messages
      } else if (value[0].type === 'ai') {
        shown += value[0].text
        if (value[0].text && ids.at(-1) !== value[0].id) ids.push(value[0].id)
      }
    }
  } catch (thrown) {
    error = thrown
  }
  return { shown, ids, ran, messages, text: messages.at(-1)?.text, error }
}

async function cameInBlocks(agent: ReturnType<typeof createAgent>, ran: readonly string[]): Promise<Came> {
  const { output } = await agent.streamEvents(human(), { version: 'v3' })
  const { messages } = await output
  return { shown: '', ids: [], ran, messages, text: messages.at(-1)?.text, error: undefined }
}
