/** Runs the AI SDK's loop twice with a model played from lists of parts: unchanged, and eager. */

import { sleep } from '@meanwhile/tests/clock'
import { generateText, isStepCount, streamText, type ToolSet, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { vi } from 'vitest'
import { z } from 'zod'
import { type EagerSettings, eager } from '../src/ai-sdk/index.ts'
import type { DeclaredEffect } from '../src/host/declared.ts'

type Stream = Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream']
type SdkPart = Stream extends ReadableStream<infer Value> ? Value : never

/** A step of a played response: emit a part, wait, or break off. */
export type Part = SdkPart | { readonly wait: number } | { readonly breaks: Error }

export const start = (id: string, toolName = 'look'): Part => ({ type: 'tool-input-start', id, toolName })
export const delta = (id: string, text: string): Part => ({ type: 'tool-input-delta', id, delta: text })
export const end = (id: string): Part => ({ type: 'tool-input-end', id })
export const call = (toolCallId: string, input = A, toolName = 'look'): Part => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
})
export const wait = (ms: number): Part => ({ wait: ms })
export const breaks = (error: Error = new Error('socket hang up')): Part => ({ breaks: error })
export const failing = (message = 'overloaded'): Part => ({ type: 'error', error: new Error(message) })

/** A whole call, except for the part that repeats it. */
export const whole = (id: string, input = A, name = 'look'): Part[] => [start(id, name), delta(id, input), end(id)]

export const said = (text: string): Part[] => [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: text },
  { type: 'text-end', id: 't' },
]

type Reason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error'

export const finish = (unified: Reason = 'tool-calls'): Part => ({
  type: 'finish',
  finishReason: { unified, raw: unified },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
})

/** The arguments of most calls. */
export const A = '{"q":"a"}'
export const B = '{"q":"b"}'

export const answer: Part[] = [...said('done'), finish('stop')]

/**
 * One list of parts for each request; the last one is repeated. A request for a whole response returns the same
 * content.
 */
export function model(responses: readonly (readonly Part[])[], provider = 'mock.chat'): MockLanguageModelV4 {
  let at = 0
  const next = (abortSignal?: AbortSignal): Stream => {
    const parts = responses[Math.min(at++, responses.length - 1)] ?? []
    return new ReadableStream({
      async start(controller) {
        controller.enqueue({ type: 'stream-start', warnings: [] })
        for (const part of parts) {
          if (abortSignal?.aborted) return controller.error(abortSignal.reason)
          if ('wait' in part) await sleep(part.wait)
          else if ('breaks' in part) return controller.error(part.breaks)
          else controller.enqueue(part)
        }
        controller.close()
      },
    })
  }
  return new MockLanguageModelV4({
    provider,
    modelId: 'm',
    doStream: async ({ abortSignal }) => ({ stream: next(abortSignal) }),
    doGenerate: async ({ abortSignal }) => wholeOf(next(abortSignal)),
  })
}

type Whole = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>

async function wholeOf(stream: Stream): Promise<Whole> {
  const content: Whole['content'] = []
  for await (const part of stream) {
    if (part.type === 'tool-call' || part.type === 'tool-result') content.push(part)
    else if (part.type === 'text-delta') content.push({ type: 'text', text: part.delta })
    else if (part.type === 'error') throw part.error
    else if (part.type === 'finish') {
      const { finishReason, usage } = part
      return { content, finishReason, usage, warnings: [] }
    }
  }
  throw new Error('the stream of the response ended without a finish')
}

const looked = z.object({ q: z.string(), n: z.number().default(1) })
const sent = z.object({ to: z.string() })

/** Tools that record what they do and when. */
export function bench(ms = 20) {
  const begin = performance.now()
  const now = () => Math.round(performance.now() - begin)
  const log: string[] = []
  const work = async (
    input: object,
    { toolCallId, abortSignal }: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined },
  ): Promise<string> => {
    const what = `${toolCallId} ${JSON.stringify(input)}`
    log.push(`${now()} ${what}`)
    try {
      await sleep(ms, abortSignal)
    } catch (aborted) {
      log.push(`${now()} ${what} aborted`)
      throw aborted
    }
    return `ok ${JSON.stringify(input)}`
  }
  const tools = {
    look: tool({ inputSchema: looked, execute: work }),
    send: tool({ inputSchema: sent, execute: work }),
  }
  return { log, now, work, tools }
}

export type Bench = ReturnType<typeof bench>
export type Given = Omit<Parameters<typeof streamText>[0], 'prompt' | 'messages' | 'instructions'> & {
  readonly stopWhen?: unknown
  readonly prompt?: string
}

export interface Played {
  /** One list of parts for each request. */
  readonly responses: readonly (readonly Part[])[]
  readonly provider?: string
  /** How long a tool runs. */
  readonly ms?: number
  readonly effects?: Readonly<Record<string, DeclaredEffect>>
  readonly settings?: EagerSettings
  /** Further options, created again for each run. */
  options?(bench: Bench): object
  /** Replaces the tool `look`. */
  look?(bench: Bench): ToolSet[string]
  /** What is done with the options; by default they are streamed. */
  go?(options: Given): Promise<unknown>
}

export interface Came {
  readonly log: readonly string[]
  /** Everything that the caller receives. */
  readonly result: unknown
  readonly warnings: readonly string[]
}

/** The same run without and with `eager()`. */
export async function plainAndEager(played: Played): Promise<{ readonly plain: Came; readonly eager: Came }> {
  return { plain: await play(played, false), eager: await play(played, true) }
}

export async function play(played: Played, isEager: boolean): Promise<Came> {
  const { responses, provider, ms, effects = { look: 'read' }, settings, go = streamed } = played
  const made = bench(ms)
  const warnings: string[] = []
  const given: Given = {
    model: model(responses, provider),
    tools: { ...made.tools, ...(played.look && { look: played.look(made) }) },
    stopWhen: isStepCount(4),
    maxRetries: 0,
    onError: () => undefined,
    ...played.options?.(made),
    prompt: 'go',
  }
  const onWarning: EagerSettings['onWarning'] = ({ code }) => void warnings.push(code)
  const options = isEager ? eager(given, effects, { onWarning, ...settings }) : given
  const going = go(options).catch((error: Error) => ({ thrown: error.message }))
  await vi.runAllTimersAsync()
  const result = await going
  await vi.runAllTimersAsync()
  return { log: made.log, result, warnings }
}

/** All parts of a stream about tools and errors, and its text. */
export async function streamed(options: Given): Promise<unknown> {
  const result = streamText(options as Parameters<typeof streamText>[0])
  const told: unknown[] = []
  for await (const part of result.fullStream) {
    switch (part.type) {
      case 'error':
        told.push(`error ${messageOf(part.error)}`)
        break
      case 'abort':
        told.push('abort')
        break
      case 'tool-call':
        told.push(['call', part.toolCallId, part.input, part.invalid ?? false])
        break
      case 'tool-result':
        told.push(['result', part.toolCallId, part.output, part.preliminary ?? false])
        break
      case 'tool-error':
        told.push(['failed', part.toolCallId, messageOf(part.error)])
        break
      case 'tool-approval-request':
        told.push(['asks', part.toolCall.toolCallId])
        break
      case 'finish-step':
        told.push(['step', part.finishReason])
    }
  }
  return { told, text: await Promise.resolve(result.text).catch((error: Error) => `! ${error.message}`) }
}

/** What `generateText` returns. */
export async function generated(options: Given): Promise<unknown> {
  const { text, steps } = await generateText(options as Parameters<typeof generateText>[0])
  return { text, steps: steps.map(({ content, finishReason, usage }) => ({ content, finishReason, usage })) }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
