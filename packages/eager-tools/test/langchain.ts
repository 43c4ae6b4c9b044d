/** Runs a LangChain agent with a scripted model twice: unchanged, and with early tools. */

import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessageChunk, type BaseMessage, ToolMessage } from '@langchain/core/messages'
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs'
import { InMemoryStore } from '@langchain/langgraph'
import { createAgent, modelRetryMiddleware, type ToolRuntime, tool } from 'langchain'
import { vi } from 'vitest'
import { z } from 'zod'
import type { EagerSettings } from '../src/host/settings.ts'
import { eager } from '../src/langchain/index.ts'
import type { AgentTool, ChatModel } from '../src/langchain/library.ts'

interface Call {
  readonly index?: number
  readonly id?: string
  readonly name?: string
  readonly args?: string
}

export type Part =
  | { readonly call: Call }
  | { readonly text: string; readonly metadata?: Record<string, unknown>; readonly id?: string }
  | { readonly wait: number }
  | { readonly breaks: Error }

export const begin = (index: number, id: string, name: string, args = ''): Part => ({ call: { index, id, name, args } })
export const more = (index: number, args: string): Part => ({ call: { index, args } })
export const wait = (ms: number): Part => ({ wait: ms })
export const text = (said: string): Part => ({ text: said })
export const breaks = (message = 'socket hang up'): Part => ({ breaks: new Error(message) })
/** A whole call of `look`, and the model's response after it. */
export const looks = (id = '1', q = 'a', tail = 100): readonly Part[] => [
  begin(0, id, 'look'),
  more(0, JSON.stringify({ q })),
  wait(tail),
  text('x'),
]
export const answer: readonly Part[] = [text('done')]

/** A middleware that calls the model once more, 1 ms after an error. */
export const retry = () => modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, jitter: false })

export const later = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })

/** Answers with one response after the other, and then repeats the last one. */
export class Scripted extends BaseChatModel {
  readonly #responses: readonly (readonly Part[])[]
  readonly #streaming: boolean
  #at = 0
  /** LangChain's name for the tool of a structured response; the number differs between agents. */
  #shape = ''

  constructor(responses: readonly (readonly Part[])[], streaming = false) {
    super({})
    this.#responses = responses
    this.#streaming = streaming
  }

  override _llmType(): string {
    return 'scripted'
  }

  override bindTools(tools: unknown[], options: object = {}): ReturnType<NonNullable<BaseChatModel['bindTools']>> {
    const own: object = { ...options, tools }
    const [shape] = tools
      .map((one) => Reflect.get(Object(Reflect.get(Object(one), 'function')), 'name'))
      .filter(Boolean)
    if (shape) this.#shape = String(shape)
    return this.withConfig(own)
  }

  override async _generate(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    run?: Parameters<BaseChatModel['_streamResponseChunks']>[2],
  ): Promise<ChatResult> {
    let all: ChatGenerationChunk | undefined
    // A model that does not stream returns everything at the end.
    const told = this.#streaming ? run : undefined
    for await (const chunk of this._streamResponseChunks(messages, options, told)) all = all?.concat(chunk) ?? chunk
    if (!all) throw new Error('the response is empty')
    return { generations: [all] }
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    { signal }: this['ParsedCallOptions'],
    run?: Parameters<BaseChatModel['_streamResponseChunks']>[2],
  ): AsyncGenerator<ChatGenerationChunk> {
    const response = this.#responses[Math.min(this.#at++, this.#responses.length - 1)] ?? []
    for (const part of response) {
      signal?.throwIfAborted()
      if ('wait' in part) await later(part.wait, signal)
      else if ('breaks' in part) throw part.breaks
      else {
        const chunk = chunkOf(part, this.#shape)
        yield chunk
        const at = { prompt: 0, completion: 0 }
        await run?.handleLLMNewToken(chunk.text, at, undefined, undefined, undefined, { chunk })
      }
    }
  }
}

function chunkOf(
  part: Extract<Part, { readonly call: Call } | { readonly text: string }>,
  shape: string,
): ChatGenerationChunk {
  if ('call' in part) {
    const call = part.call.name === 'shape' ? { ...part.call, name: shape } : part.call
    const tool_call_chunks = [{ type: 'tool_call_chunk' as const, ...call }]
    return new ChatGenerationChunk({ text: '', message: new AIMessageChunk({ content: '', tool_call_chunks }) })
  }
  const { text: content, metadata = {}, id } = part
  const message = new AIMessageChunk({ content, response_metadata: metadata, ...(id && { id }) })
  return new ChatGenerationChunk({ text: content, message })
}

export interface Options {
  readonly model: ChatModel
  readonly tools: readonly AgentTool[]
}

export type Agent = ReturnType<typeof createAgent>
export type Config = NonNullable<Parameters<Agent['invoke']>[1]>

/** Each option of a call: a new one is missing here, and does not compile. */
export const callOptions: { readonly [Option in Exclude<keyof Config, symbol>]-?: () => unknown } = {
  configurable: () => ({ thread_id: 'other' }),
  context: () => ({ user: 'u' }),
  recursionLimit: () => 50,
  maxConcurrency: () => 1,
  timeout: () => 100_000,
  signal: () => new AbortController().signal,
  callbacks: () => [],
  tags: () => ['mine'],
  metadata: () => ({ of: 'mine' }),
  runName: () => 'mine',
  runId: () => '01a22391-d152-750a-a166-5d90a9b5931c',
  store: () => new InMemoryStore(),
  cache: () => undefined,
  durability: () => 'sync',
  subgraphs: () => true,
}
type Work = (input: { readonly q: string }, runtime: ToolRuntime) => unknown

export interface Played {
  readonly responses: readonly (readonly Part[])[]
  /** How long a tool runs. */
  readonly ms?: number
  /** The schema of `look`. */
  readonly schema?: () => z.ZodObject
  /** What `look` returns after it has run. */
  readonly look?: () => Work
  /** Other options of `createAgent`. */
  readonly options?: () => object
  readonly config?: () => Config
  readonly effects?: object
  readonly settings?: EagerSettings
  /** The model always streams. */
  readonly streaming?: boolean
  /** Changes the options that `eager()` has returned. */
  readonly cut?: (options: Options) => Options
  readonly go?: (agent: Agent, config: Config | undefined) => Promise<unknown>
}

export interface Came {
  /** `{time} {id} {input}` for each execution; also `… aborted`. */
  readonly log: readonly string[]
  readonly result: unknown
  readonly warnings: readonly string[]
}

export const shown = (state: { readonly messages: readonly BaseMessage[] }): readonly string[] =>
  state.messages.map((message) => {
    const { text: said } = message
    if (!ToolMessage.isInstance(message)) return `${message.type}: ${said}`
    return `${message.type} ${message.tool_call_id}: ${said}${message.status === 'error' ? ' (error)' : ''}`
  })

export const human = (content = 'go'): { readonly messages: { role: string; content: string }[] } => ({
  messages: [{ role: 'user', content }],
})

async function invoked(agent: Agent, config: Config | undefined): Promise<unknown> {
  return shown(await agent.invoke(human(), config))
}

const question = z.object({ q: z.string() })

export async function played(one: Played, isEager: boolean): Promise<Came> {
  const { responses, ms = 20, effects = { look: 'read' }, go = invoked, cut = (options) => options } = one
  const log: string[] = []
  const warnings: string[] = []
  const began = performance.now()
  const working =
    (work?: Work): Work =>
    async (input, runtime) => {
      const { signal, toolCallId } = runtime
      const note = (more = '') =>
        log.push(`${Math.round(performance.now() - began)} ${toolCallId} ${JSON.stringify(input)}${more}`)
      note()
      const aborted = () => note(' aborted')
      signal?.addEventListener('abort', aborted, { once: true })
      await later(ms, signal)
      signal?.removeEventListener('abort', aborted)
      return (await work?.(input, runtime)) ?? `ok ${input.q}`
    }
  const tools = [
    tool(working(one.look?.()), { name: 'look', description: 'looks', schema: one.schema?.() ?? question }),
    tool(working(), { name: 'send', description: 'sends', schema: question }),
  ]
  const given = { model: new Scripted(responses, one.streaming), tools, ...one.options?.() }
  const onWarning: EagerSettings['onWarning'] = ({ code }) => void warnings.push(code)
  const settings = { alwaysStream: true, onWarning, ...one.settings }
  const options = isEager ? cut(eager<object>(given, effects, settings) as Options) : given
  const result = await settled(go(createAgent(options as Parameters<typeof createAgent>[0]), one.config?.()))
  // Unused calls are kept this long.
  await vi.advanceTimersByTimeAsync(30_000)
  return { log, result, warnings }
}

export async function plainAndEager(one: Played): Promise<{ readonly plain: Came; readonly eager: Came }> {
  return { plain: await played(one, false), eager: await played(one, true) }
}

/** Lets time pass until the result is known. */
export async function settled(work: Promise<unknown>): Promise<unknown> {
  let isOver = false
  const over = work
    .catch((error: Error) => ({ thrown: `${error.name}: ${error.message}` }))
    .finally(() => {
      isOver = true
    })
  for (let ms = 0; !isOver && ms < 20_000; ms++) await vi.advanceTimersByTimeAsync(1)
  return over
}
