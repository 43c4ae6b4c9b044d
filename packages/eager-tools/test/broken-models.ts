/** Models of the AI SDK whose responses break off, and what the reader of a run gets. */

import { isStepCount, streamText, type ToolSet, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { vi } from 'vitest'
import { z } from 'zod'

// Each failed attempt is a warning.
globalThis.AI_SDK_LOG_WARNINGS = false

type Stream = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream']
export type SdkPart = Stream extends ReadableStream<infer Value> ? Value : never

/** A step of a played response: emit a part, wait, break off, or stay silent forever. */
export type Part = SdkPart | { readonly wait: number } | { readonly breaks: unknown } | { readonly stalls: true }

export const breaks = (error: unknown = new Error('socket hang up')): Part => ({ breaks: error })
export const stalls: Part = { stalls: true }

/** A block in these pieces. */
export function block(kind: 'text' | 'reasoning', id: string, ...pieces: readonly string[]): SdkPart[] {
  return [
    { type: `${kind}-start`, id },
    ...pieces.map((delta): SdkPart => ({ type: `${kind}-delta`, id, delta })),
    { type: `${kind}-end`, id },
  ]
}

export const text = (...pieces: readonly string[]): SdkPart[] => block('text', '0', ...pieces)

/** A call with its arguments in pieces. */
export function call(toolCallId: string, toolName: string, input: object): SdkPart[] {
  const whole = JSON.stringify(input)
  return [
    { type: 'tool-input-start', id: toolCallId, toolName },
    ...(whole.match(/.{1,6}/g) ?? []).map((delta): SdkPart => ({ type: 'tool-input-delta', id: toolCallId, delta })),
    { type: 'tool-input-end', id: toolCallId },
    { type: 'tool-call', toolCallId, toolName, input: whole },
  ]
}

type Reason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'interrupted' | 'other'

export const usage = (input = 10, output = 5) => ({
  inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: output, text: output, reasoning: 0 },
})

export const finish = (unified: Reason = 'stop'): SdkPart => ({
  type: 'finish',
  finishReason: { unified, raw: unified },
  usage: usage(),
})

export const begin: SdkPart = { type: 'stream-start', warnings: [] }

/** One list of parts for each request; the last one is repeated. Nothing is read ahead. */
export function model(responses: readonly (readonly Part[])[], about: { readonly modelId?: string } = {}) {
  let at = 0
  return new MockLanguageModelV4({
    provider: 'anthropic.messages',
    modelId: 'm',
    ...about,
    doStream: async () => {
      const left = [...(responses[Math.min(at++, responses.length - 1)] ?? [])]
      return { stream: new ReadableStream({ pull: (to) => next(left, to) }, { highWaterMark: 0 }) }
    },
  })
}

async function next(left: Part[], to: ReadableStreamDefaultController<SdkPart>): Promise<void> {
  const part = left.shift()
  if (!part) to.close()
  else if ('breaks' in part) to.error(part.breaks)
  else if ('stalls' in part) await new Promise(() => undefined)
  else if ('wait' in part) {
    await new Promise((resolve) => setTimeout(resolve, part.wait))
    await next(left, to)
  } else to.enqueue(part)
}

/** All parts of one response. */
export async function readAll(of: Pick<MockLanguageModelV4, 'doStream'>): Promise<SdkPart[]> {
  const { stream } = await of.doStream({ prompt: [] })
  const parts: SdkPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

const looked = z.object({ q: z.string() })
const sent = z.object({ to: z.string() })

/** Tools that record their calls. */
export function bench(ms = 0) {
  const ran: string[] = []
  const work = (name: string) => async (input: object) => {
    ran.push(`${name} ${Object.values(input).join()}`)
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
    return `${name} done`
  }
  const tools = {
    look: tool({ inputSchema: looked, execute: work('look') }),
    send: tool({ inputSchema: sent, execute: work('send') }),
  } satisfies ToolSet
  return { ran, tools }
}

export type Bench = ReturnType<typeof bench>
export type Options = Omit<Parameters<typeof streamText>[0], 'prompt' | 'messages' | 'instructions'> & {
  readonly stopWhen?: unknown
  readonly prompt?: string
}

/** What the reader of a run gets. */
export interface Came {
  /** The text as it was shown; `|` ends a step. */
  readonly shown: string
  /** The types of the parts, with pieces of one block as one. */
  readonly types: readonly string[]
  readonly errors: readonly unknown[]
  readonly ran: readonly string[]
  readonly content: readonly (readonly object[])[]
  readonly messages: unknown
  readonly finishReason: unknown
  readonly usage: { readonly input: number | undefined; readonly output: number | undefined }
  readonly warnings: readonly string[]
  readonly metadata: unknown
}

/** Streams a run of a model with two tools. `change`: what is done with the options, such as `eager()`. */
export async function run(
  options: Options,
  made: Bench = bench(),
  change: (options: Options) => Options = (same) => same,
): Promise<Came> {
  const going = came(
    change({ onError: () => undefined, tools: made.tools, stopWhen: isStepCount(4), ...options, prompt: 'go' }),
    made,
  )
  await vi.runAllTimersAsync()
  return going
}

async function came(options: Options, { ran }: Bench): Promise<Came> {
  const errors: unknown[] = []
  const types: string[] = []
  const result = streamText(options as Parameters<typeof streamText>[0])
  let shown = ''
  try {
    for await (const part of result.fullStream) {
      if (part.type === 'error') errors.push(part.error)
      if (part.type === 'text-delta') shown += part.text
      if (part.type === 'finish-step') shown += '|'
      if (part.type !== types.at(-1)) types.push(part.type)
    }
  } catch (error) {
    errors.push(error)
  }
  const known = <Value>(value: PromiseLike<Value>) => Promise.resolve(value).catch(() => undefined)
  const steps = (await known(result.steps)) ?? []
  const total = await known(result.totalUsage)
  return {
    shown,
    types,
    errors,
    ran,
    content: steps.map(({ content }) => content),
    messages: steps.flatMap(({ response }) => response.messages),
    finishReason: await known(result.finishReason),
    usage: { input: total?.inputTokens, output: total?.outputTokens },
    warnings: (steps.at(-1)?.warnings ?? []).map((warning) => ('message' in warning ? warning.message : warning.type)),
    metadata: steps.at(-1)?.providerMetadata,
  }
}
