/**
 * Plays one script with a plain and an eager runner of `@openai/agents`, and compares the caller's results and the
 * executions.
 */

import { sleep } from '@meanwhile/tests/clock'
import {
  Agent,
  type AgentInputItem,
  type Model,
  ModelBehaviorError,
  type ModelRequest,
  type ModelResponse,
  Runner,
  type RunStreamEvent,
  type StreamEvent,
  setTraceProcessors,
  tool,
  Usage,
} from '@openai/agents'
import { expect, vi } from 'vitest'
import { z } from 'zod'
import type { DeclaredEffect } from '../src/host/declared.ts'
import type { EagerSettings } from '../src/host/settings.ts'
import { loadInternals } from '../src/openai-agents/early-tools.ts'
import { eager } from '../src/openai-agents/index.ts'

// The SDK's exporter wakes every five seconds by the current clock, which may be that of a later test.
setTraceProcessors([])

export type Item = Extract<StreamEvent, { type: 'response_done' }>['response']['output'][number]
/** An event, a pause in milliseconds, or the error of the stream. */
export type Part = StreamEvent | number | Error

const question = z.object({ q: z.string() })

export const Q = '{"q":"a"}'
export const raw = (event: unknown): StreamEvent => ({ type: 'model', event })
export const requested = (callId: string, name = 'look', text = Q): Item => ({
  type: 'function_call',
  callId,
  name,
  arguments: text,
  status: 'completed',
})
export const done = (...output: Item[]): StreamEvent => ({
  type: 'response_done',
  response: { id: 'r', usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, output },
})
export const text: Item = {
  type: 'message',
  id: 'm',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'done' }],
}
/** A response without calls. */
export const answer: Part[] = [done(text)]

const item = (call_id: string, name: string, args: string, more: object = {}) => ({
  type: 'function_call',
  call_id,
  name,
  arguments: args,
  ...more,
})
/** On the Responses wire: a call begins, and its arguments are complete. */
export const streamed = (id: string, name = 'look', args = Q, index = 0, more: object = {}): Part[] => [
  raw({ type: 'response.output_item.added', output_index: index, item: item(id, name, '', more) }),
  ...[args.slice(0, 4), args.slice(4)].map((delta) =>
    raw({ type: 'response.function_call_arguments.delta', output_index: index, delta }),
  ),
]
export const sealed = (id: string, name = 'look', args = Q, index = 0, more: object = {}): Part[] => [
  ...streamed(id, name, args, index, more),
  raw({ type: 'response.output_item.done', output_index: index, item: item(id, name, args, more) }),
]
/** A whole response with one call; it ends `ms` after the call. */
export const one = (id = '1', args = Q, ms = 100, name = 'look'): Part[] => [
  ...sealed(id, name, args),
  ms,
  done(requested(id, name, args)),
]

export class Script implements Model {
  readonly requests: ModelRequest[] = []
  readonly #responses: readonly Part[][]

  /** After the last response, it is repeated. */
  constructor(responses: readonly Part[][]) {
    this.#responses = responses
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    let response: ModelResponse | undefined
    for await (const event of this.#next(request)) {
      if (event.type !== 'response_done') continue
      const { id, output } = event.response
      response = { usage: new Usage({ inputTokens: 1, outputTokens: 1, totalTokens: 2 }), output, responseId: id }
    }
    if (!response) throw new ModelBehaviorError('Model did not produce a final response!')
    return response
  }

  getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    return this.#next(request)
  }

  async *#next(request: ModelRequest): AsyncGenerator<StreamEvent> {
    const response = this.#responses[Math.min(this.requests.length, this.#responses.length - 1)] ?? []
    this.requests.push(request)
    for (const part of response) {
      request.signal?.throwIfAborted()
      if (typeof part === 'number') await sleep(part, request.signal)
      else if (part instanceof Error) throw part
      else yield part
    }
  }
}

type ToolOptions = Partial<Parameters<typeof tool>[0]>
export type Body = (input: { q: string }, call: { readonly context: unknown; readonly signal?: AbortSignal }) => unknown

export interface Case {
  readonly responses: readonly Part[][]
  readonly effects?: Readonly<Record<string, DeclaredEffect<never>>>
  readonly settings?: EagerSettings
  /** Options of the tool `look`. */
  readonly look?: object
  readonly agent?: object
  readonly runner?: object
  readonly run?: () => object
  /** How long a tool runs. */
  readonly ms?: number
  readonly body?: Body
  /** Used instead of one streamed run. */
  readonly go?: (runner: Runner, agent: Agent, model: Script) => Promise<unknown>
}

export interface Played {
  /** `{time} {tool} {id} {q}` for each execution, with ` aborted` if it was aborted. */
  readonly log: string[]
  readonly result: unknown
  readonly model: Script
  readonly warnings: string[]
}

/** Plays a case once. Requires fake time. */
export async function played(
  { responses, effects = { look: 'read' }, settings, look = {}, agent = {}, runner = {}, run, ms = 20, body, go }: Case,
  isEager: boolean,
): Promise<Played> {
  const log: string[] = []
  const warnings: string[] = []
  const onWarning: EagerSettings['onWarning'] = ({ code }) => void warnings.push(code)
  const plain = new Runner({ tracingDisabled: true, ...runner })
  const runs = isEager ? eager(plain, effects, { onWarning, ...settings }) : plain
  await loadInternals()
  const begin = performance.now()
  const toolOf = (name: string, more: ToolOptions) =>
    tool({
      name,
      description: name,
      parameters: question,
      async execute(input: { q: string }, context, details) {
        const { signal, toolCall } = details ?? {}
        const at = log.push(`${Math.round(performance.now() - begin)} ${name} ${toolCall?.callId} ${input.q}`) - 1
        signal?.addEventListener('abort', () => {
          if (!isDone) log[at] += ' aborted'
        })
        let isDone = false
        try {
          await sleep(ms, signal)
          return (await body?.(input, { context: context?.context, ...(signal && { signal }) })) ?? `ok ${input.q}`
        } finally {
          isDone = true
        }
      },
      ...more,
    } as Parameters<typeof tool>[0])
  const model = new Script(responses)
  const actor = new Agent({
    name: 'a',
    instructions: 'i',
    model: 'scripted',
    tools: [toolOf('look', look), toolOf('send', {})],
    ...agent,
  })
  plain.config.modelProvider = { getModel: () => model }
  const going = go
    ? go(runs, actor, model)
    : runs.run(actor, 'go', { stream: true, ...run?.() }).then((result) => consumed(result))
  const settled = going.catch((error: Error) => ({ threw: error.message, kind: error.constructor.name }))
  await vi.advanceTimersByTimeAsync(3_000)
  return { log, warnings, model, result: await settled }
}

interface StreamedResult extends AsyncIterable<RunStreamEvent> {
  readonly completed: Promise<void>
  readonly error: unknown
  readonly history: AgentInputItem[]
  readonly finalOutput?: unknown
  readonly interruptions: readonly unknown[]
}

/** Everything that the caller of a streamed run receives. */
export async function consumed(result: StreamedResult): Promise<object> {
  const items: string[] = []
  for await (const event of result) {
    if (event.type !== 'run_item_stream_event') continue
    const { rawItem } = event.item
    items.push(
      `${event.name} ${JSON.stringify(rawItem)} ${'output' in event.item ? JSON.stringify(event.item.output) : ''}`,
    )
  }
  await result.completed
  if (result.error) throw result.error
  const history: AgentInputItem[] = result.history
  return { items, history, output: result.finalOutput, asks: result.interruptions.length }
}

/** The executions of both runners, after a check that the caller's results are the same. */
export async function compared(
  scenario: Case,
): Promise<{ plain: string[]; early: string[]; warnings: string[]; result: unknown }> {
  const plain = await played(scenario, false)
  const early = await played(scenario, true)
  expect(early.result).toEqual(plain.result)
  expect(early.model.requests.map(({ input }) => input)).toEqual(plain.model.requests.map(({ input }) => input))
  return { plain: plain.log, early: early.log, warnings: early.warnings, result: plain.result }
}

/** The executions of both runners with their times, after a check that there was no warning. */
export async function executed(scenario: Case): Promise<readonly [plain: string[], early: string[]]> {
  const { plain, early, warnings } = await compared(scenario)
  expect(warnings).toEqual([])
  return [plain, early]
}

/** A tool that needs an approval. */
export const guarded = tool({
  name: 'guarded',
  description: 'g',
  parameters: question,
  needsApproval: true,
  execute: async () => 'guarded',
})
