/**
 * Plays a program of `@openai/agents` with a plain and an eager runner, and records everything that its user sees: the
 * executions of tools, callbacks and hooks with all they get, stream events, requests and results.
 */

import { sleep } from '@meanwhile/tests/clock'
import {
  Agent,
  type AgentOptions,
  type FunctionTool,
  type IndividualRunOptions,
  type RunConfig,
  RunContext,
  Runner,
  type RunState,
  tool,
} from '@openai/agents'
import { vi } from 'vitest'
import { z } from 'zod'
import type { DeclaredEffect } from '../src/host/declared.ts'
import type { EagerSettings } from '../src/host/settings.ts'
import { loadInternals } from '../src/openai-agents/early-tools.ts'
import { eager } from '../src/openai-agents/index.ts'
import { type Part, Script } from './agents.ts'

/** Records that a callback was called, and with what. */
export type Tell = (callback: string, ...given: readonly unknown[]) => void

export type ToolOptions = Partial<Parameters<typeof tool>[0]>
export type RunOptions = Partial<IndividualRunOptions<unknown, Agent>>

/** What a program adds to the agent, the runner, the run and the tools. */
export interface Added {
  readonly agent?: Partial<AgentOptions>
  readonly runner?: Partial<RunConfig>
  readonly run?: RunOptions
  /** Options of the tools `look` and `book`. */
  readonly tool?: ToolOptions
}

/** How the options reach the library. */
export type Way = 'given' | 'with the call' | 'spread'

export interface Program {
  readonly responses: readonly Part[][]
  readonly adds?: (tell: Tell, tools: Readonly<Record<string, FunctionTool>>) => Added
  readonly way?: Way
  readonly streams?: boolean
  readonly effects?: Readonly<Record<string, DeclaredEffect<never>>>
  readonly settings?: EagerSettings
  /** How long a tool runs; `book` six times as long. */
  readonly ms?: number
  /** Instead of one run. `see` reads a result whole. */
  readonly go?: (world: World) => Promise<unknown>
}

export interface World {
  readonly runner: Runner
  readonly agent: Agent
  readonly model: Script
  readonly tools: Readonly<Record<string, FunctionTool>>
  readonly tell: Tell
  readonly see: (result: Seen) => Promise<unknown>
  readonly start: (agent?: Agent, input?: string | RunState<unknown, Agent>) => Promise<unknown>
}

interface Seen {
  readonly history: unknown
  readonly finalOutput?: unknown
  readonly interruptions: readonly unknown[]
  readonly lastAgent: { readonly name: string } | undefined
  readonly state: { readonly _context: RunContext<unknown> }
  readonly completed?: Promise<void>
  readonly error?: unknown
}

export interface ToldProgram {
  /** `{tool} {id} {q}` for each execution that was not aborted, in the order in which they began. */
  readonly calls: readonly string[]
  /** When each execution began, also an aborted one, in milliseconds. */
  readonly times: readonly number[]
  /** Those that `compensate` has undone, without their ids. */
  readonly undone: readonly string[]
  /** What the SDK does for calls at the same time is ordered by call, because it depends on how long tools run. */
  readonly callbacks: readonly string[]
  readonly result: unknown
  readonly requests: readonly unknown[]
  readonly warnings: readonly string[]
}

const question = z.object({ q: z.string() })

export const RUN_EVENTS = ['agent_start', 'agent_end', 'agent_handoff', 'agent_tool_start', 'agent_tool_end'] as const

/** Requires fake time. */
export async function told(program: Program, isEager: boolean): Promise<ToldProgram> {
  const { responses, adds = (): Added => ({}), way = 'given', streams = true, settings = {}, ms = 20, go } = program
  const executions: { readonly line: string; readonly at: number; isAborted: boolean }[] = []
  const [undone, callbacks, warnings]: [string[], string[], string[]] = [[], [], []]
  const begin = performance.now()
  const tools: Record<string, FunctionTool> = {}
  const tell: Tell = (callback, ...given) => {
    callbacks.push(`${callback} ${written(given, tools)}`)
  }
  const effects = program.effects ?? {
    look: 'read',
    book: {
      effect: 'reversible',
      compensate: (_: object, output: unknown) => {
        undone.push(String(output).replace(' ', ' - ').replace(/ ok$/, ''))
      },
    },
  }
  const execute =
    (name: string) =>
    async (input: unknown, _: unknown, details?: { signal?: AbortSignal; toolCall?: { callId: string } }) => {
      const { q } = question.parse(input)
      const execution = {
        line: `${name} ${details?.toolCall?.callId} ${q}`,
        at: performance.now() - begin,
        isAborted: false,
      }
      executions.push(execution)
      try {
        await sleep(name === 'book' ? ms * 6 : ms, details?.signal)
      } catch (error) {
        execution.isAborted = true
        throw error
      }
      if (q === 'throws') throw new Error(`${name} is broken`)
      return `${name} ${q} ok`
    }
  const make = (name: string, more: ToolOptions) =>
    tool({
      name,
      description: name,
      parameters: question,
      execute: execute(name),
      ...more,
    } as Parameters<typeof tool>[0])
  const added = adds(tell, tools)
  for (const name of ['look', 'book', 'send']) tools[name] = make(name, name === 'send' ? {} : (added.tool ?? {}))
  const model = new Script(responses)
  const common = { tracingDisabled: true, modelProvider: { getModel: () => model } }
  const plain = new Runner(way === 'given' ? { ...common, ...added.runner } : common)
  const onWarning: EagerSettings['onWarning'] = ({ code, message }) => void warnings.push(`${code}: ${message}`)
  const runner = isEager ? eager(plain, effects, { onWarning, ...settings }) : plain
  // Guardrails count as the runner got them when it was made, so they are not given later.
  if (way !== 'given') Object.assign(runner.config, added.runner)
  await loadInternals()
  const shared = { instructions: 'i', model: 'scripted', tools: Object.values(tools) }
  const other = new Agent({ ...shared, name: 'other' })
  const agent = agentBy(way, { ...shared, name: 'a', handoffs: [other] }, added.agent ?? {})
  for (const event of RUN_EVENTS) {
    runner.on(event, (...given: readonly unknown[]) => tell(`runner ${event}`, ...given))
    for (const one of [agent, other])
      one.on(event, (...given: readonly unknown[]) => tell(`${one.name} ${event}`, ...given))
  }
  const see: World['see'] = async (result) => {
    const events: string[] = []
    if (Symbol.asyncIterator in result)
      for await (const event of result as AsyncIterable<unknown>) events.push(written([event], tools))
    await result.completed
    if (result.error) throw result.error
    const { history, finalOutput, interruptions, lastAgent, state } = result
    const { requests, totalTokens } = state._context.usage
    return { events, history, finalOutput, asks: interruptions.length, last: lastAgent?.name, requests, totalTokens }
  }
  const start: World['start'] = async (from = agent, input = 'go') => {
    const options: RunOptions = { ...added.run }
    return (options.stream ?? streams)
      ? see(await runner.run(from, input, { ...options, stream: true }))
      : see(await runner.run(from, input, { ...options, stream: false }))
  }
  const going = go ? go({ runner, agent, model, tools, tell, see, start }) : start()
  const settled = going.catch((error: Error) => ({ threw: error.message, kind: error.constructor.name }))
  await vi.advanceTimersByTimeAsync(3_000)
  const result = await settled
  await vi.advanceTimersByTimeAsync(40_000)
  const kept = executions.filter(({ isAborted }) => !isAborted)
  return {
    calls: kept.map(({ line }) => line),
    times: executions.map(({ at }) => Math.round(at)),
    undone,
    callbacks: byCall(callbacks),
    result,
    requests: model.requests.map(({ input, tools, systemInstructions }) => ({
      input,
      tools: tools.map(({ name }) => name),
      systemInstructions,
    })),
    warnings,
  }
}

/** Whether some execution began sooner than the one at its place in another run, or only here. */
export function isSooner(times: readonly number[], others: readonly number[]): boolean {
  return times.some((time, place) => time < (others[place] ?? Number.POSITIVE_INFINITY))
}

/** How often a tool was executed with each input, without what was undone. */
export function countOf(
  tool: string,
  { calls, undone }: Pick<ToldProgram, 'calls' | 'undone'>,
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const [lines, by] of [
    [calls, 1],
    [undone, -1],
  ] as const)
    for (const line of lines) {
      const [name, , q = ''] = line.split(' ')
      if (name === tool) counts[q] = (counts[q] ?? 0) + by
    }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))
}

function agentBy(way: Way, base: AgentOptions, added: Partial<AgentOptions>): Agent {
  if (way === 'given') return new Agent({ ...base, ...added })
  if (way === 'spread') return new Agent(base).clone(added)
  return Object.assign(new Agent(base), added)
}

/** As text, which says whether a tool is the user's own object. */
function written(given: readonly unknown[], tools: Readonly<Record<string, FunctionTool>>): string {
  const own = new Set<unknown>(Object.values(tools))
  return JSON.stringify(given, (key, value: unknown) => {
    if (value instanceof RunContext) return `context ${JSON.stringify(value.context)} ${value.usage.totalTokens}`
    if (value instanceof Agent) return `agent ${value.name}`
    if (value instanceof AbortSignal) return 'signal'
    if (value instanceof Error) return `${value.name}: ${value.message}`
    if (key === 'tool' || Object(value).type === 'function')
      return `tool ${Object(value).name} ${own.has(value) ? 'of the user' : 'of another'}`
    if (key === 'state') return 'state'
    return value
  })
}

function byCall(callbacks: readonly string[]): string[] {
  const ordered: string[] = []
  let calls: { readonly id: string; readonly line: string }[] = []
  const flush = () => {
    calls.sort((one, other) => one.id.localeCompare(other.id))
    ordered.push(...calls.map(({ line }) => line))
    calls = []
  }
  for (const line of callbacks) {
    const [, id] = /"toolCall":\{[^}]*"callId":"([^"]*)"/.exec(line) ?? []
    if (id !== undefined) {
      calls.push({ id, line })
      continue
    }
    flush()
    ordered.push(line)
  }
  flush()
  return ordered
}
