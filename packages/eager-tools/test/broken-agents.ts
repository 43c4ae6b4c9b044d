/** Models of the OpenAI Agents SDK whose responses break off, and what the reader of a run gets. */

import {
  Agent,
  type AgentInputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Runner,
  type StreamEvent,
  StreamedRunResult,
  setTraceProcessors,
  tool,
  Usage,
} from '@openai/agents'
import { vi } from 'vitest'
import { z } from 'zod'
import { loadInternals } from '../src/openai-agents/early-tools.ts'
import { done, type Item, raw, requested, sealed } from './agents.ts'

setTraceProcessors([])

/** A step of a played response: emit an event, wait, break off, or stay silent forever. */
export type Step = StreamEvent | { readonly wait: number } | { readonly breaks: unknown } | { readonly stalls: true }

export const breaks = (error: unknown = new Error('socket hang up')): Step => ({ breaks: error })
export const stalls: Step = { stalls: true }
export const started: StreamEvent = { type: 'response_started' }

export const textDelta = (delta: string, itemId?: string): StreamEvent => ({
  type: 'output_text_delta',
  delta,
  ...(itemId !== undefined && { itemId }),
})

/** The pieces of a text, each with its raw event as on the Responses wire. */
export const says = (id: string, ...pieces: readonly string[]): StreamEvent[] => [
  raw({ type: 'response.output_item.added', output_index: 0, item: { type: 'message', id } }),
  ...pieces.flatMap((piece) => [
    textDelta(piece, id),
    raw({ type: 'response.output_text.delta', item_id: id, delta: piece }),
  ]),
]

export const message = (id: string, text: string): Item => ({
  type: 'message',
  id,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
})

export const calls = (id: string, name: string, args: object, index = 1): StreamEvent[] =>
  sealed(id, name, JSON.stringify(args), index).filter((part) => typeof part === 'object' && 'type' in part)

/** A response that says this text. */
export const said = (id: string, ...pieces: readonly string[]): StreamEvent[] => [
  started,
  ...says(id, ...pieces),
  done(message(id, pieces.join(''))),
]

/** A response with a text, two calls of `look` and one of `send`, under other ids for each number. */
export const answer = (number: number): StreamEvent[] => [
  started,
  raw({ type: 'response.created', response: { id: `r${number}` } }),
  ...says(`m${number}`, 'Let me ', 'look.'),
  ...calls(`${number}a`, 'look', { q: 'a' }, 1),
  ...calls(`${number}b`, 'look', { q: 'b' }, 2),
  ...calls(`${number}c`, 'send', { to: 'ada' }, 3),
  done(
    message(`m${number}`, 'Let me look.'),
    requested(`${number}a`, 'look', '{"q":"a"}'),
    requested(`${number}b`, 'look', '{"q":"b"}'),
    requested(`${number}c`, 'send', '{"to":"ada"}'),
  ),
]

export interface Played extends Model {
  readonly requests: ModelRequest[]
}

/** One list of steps for each request; the last one is repeated. It does not react to an abort. */
export function model(responses: readonly (readonly Step[])[], more: Partial<Model> = {}): Played {
  const requests: ModelRequest[] = []
  async function* streamed(request: ModelRequest): AsyncGenerator<StreamEvent> {
    const steps = responses[Math.min(requests.push(request) - 1, responses.length - 1)] ?? []
    for (const step of steps) {
      if ('breaks' in step) throw step.breaks
      if ('stalls' in step) await new Promise(() => undefined)
      else if ('wait' in step) await new Promise((resolve) => setTimeout(resolve, step.wait))
      else yield step
    }
  }
  return {
    requests,
    getStreamedResponse: streamed,
    async getResponse(request): Promise<ModelResponse> {
      for await (const event of streamed(request)) {
        if (event.type !== 'response_done') continue
        const { usage: _, output, id } = event.response
        return { usage: new Usage({ inputTokens: 1, outputTokens: 1, totalTokens: 2 }), output, responseId: id }
      }
      throw new Error('the response has no end')
    },
    ...more,
  }
}

/** What the reader of a run gets. */
export interface Came {
  /** The text as it was shown. */
  readonly shown: string
  /** The ids of the shown text, in order. */
  readonly ids: readonly (string | undefined)[]
  /** The types of the raw events. */
  readonly raw: readonly string[]
  readonly ran: readonly string[]
  readonly history: readonly AgentInputItem[]
  readonly output: unknown
  readonly usage: { readonly input: number; readonly output: number } | undefined
  readonly meanwhile: unknown
  readonly error: unknown
}

export interface Options {
  readonly agent?: object
  readonly run?: object
  /** How long a tool runs. */
  readonly ms?: number
  readonly change?: (runner: Runner) => Runner
  /** Called when a tool begins. */
  readonly began?: (name: string) => unknown
}

const looked = z.object({ q: z.string() })
const sent = z.object({ to: z.string() })

/** A run of a model with two tools. It streams, unless `run` has another `stream`. */
export async function run(of: Model, options: Options = {}): Promise<Came> {
  const { agent = {}, ms = 0, change = (same) => same, began } = options
  const ran: string[] = []
  const toolOf = <Shape extends z.ZodObject>(name: string, parameters: Shape) =>
    tool({
      name,
      description: name,
      parameters,
      execute: async (input: object) => {
        ran.push(`${name} ${Object.values(input).join()}`)
        began?.(name)
        if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
        return `${name} done`
      },
    } as Parameters<typeof tool>[0])
  const tools = [toolOf('look', looked), toolOf('send', sent)]
  const actor = new Agent({ name: 'a', instructions: 'i', model: of, tools, ...agent })
  const runner = change(new Runner({ tracingDisabled: true }))
  await loadInternals()
  const going = came(runner, actor, { stream: true, ...options.run }, ran)
  await vi.runAllTimersAsync()
  return going
}

async function came(runner: Runner, agent: Agent, options: object, ran: readonly string[]): Promise<Came> {
  let shown = ''
  let meanwhile: unknown
  const ids: (string | undefined)[] = []
  const types: string[] = []
  const result = await runner.run(agent, 'go', options)
  let error: unknown
  try {
    for await (const event of result instanceof StreamedRunResult ? result : []) {
      if (event.type !== 'raw_model_stream_event') continue
      const { data } = event
      if (data.type === 'output_text_delta') {
        shown += data.delta
        if (ids.at(-1) !== data.itemId) ids.push(data.itemId)
      } else if (data.type === 'model') types.push(data.event.type)
      else if (data.type === 'response_done') {
        shown += '|'
        meanwhile = data.response.providerData?.meanwhile
      }
    }
    if (result instanceof StreamedRunResult) {
      await result.completed
      error = result.error ?? undefined
    }
  } catch (thrown) {
    error = thrown
  }
  const isOver = error === undefined && !(result instanceof StreamedRunResult && result.cancelled)
  const { inputTokens: input, outputTokens: output } = result.state.usage
  return {
    shown,
    ids,
    raw: types,
    ran,
    history: result.history,
    output: isOver ? result.finalOutput : undefined,
    usage: { input, output },
    meanwhile,
    error,
  }
}
