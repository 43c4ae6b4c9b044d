/** A run on the fake clock, with tools that run for given times. */

import { collect, type ScriptResponse, scriptedModel } from '@meanwhile/assemble/testing'
import {
  type AgentEvent,
  createAgent,
  type Effect,
  type Message,
  type Middleware,
  type Tool,
  tool,
} from '@meanwhile/core'
import { spanOutline } from '@meanwhile/harness/otlp'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { vi } from 'vitest'
import { z } from 'zod'

export interface TimedOptions {
  readonly input?: string | readonly Message[]
  readonly maxSteps?: number
  readonly signal?: AbortSignal
  /** Also returns an outline of the spans; the exporter has its own timers. */
  readonly traced?: boolean
}

/**
 * A run with these responses. `look` is a read, `put` is idempotent and `send` is external; each call defines how long it runs and how
 * often it fails. `log` has the time of each execution, `took` the duration of the run, `timers` the timers that remain.
 */
export async function timedRun(
  responses: readonly ScriptResponse[],
  middleware: readonly Middleware[],
  { input = 'Go', signal, traced = false, ...rest }: TimedOptions = {},
) {
  const begin = performance.now()
  const now = () => Math.round(performance.now() - begin)
  const log: string[] = []
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const make = (name: string, effect: Worked) => worker(name, effect, (n) => log.push(`${now()} ${name} ${n}`))
  const model = scriptedModel(responses)
  const agent = createAgent({
    model,
    tools: [make('look', 'read'), make('put', 'idempotent'), make('send', 'external')],
    middleware,
    ...(traced && { telemetry: { tracerProvider } }),
    ...rest,
  })
  const collected = collect(agent.stream(input, signal && { signal }))
  const timed = collected.then((all) => ({ ...all, took: now(), timers: vi.getTimerCount() }))
  await vi.runAllTimersAsync()
  const outline = spanOutline(exporter.getFinishedSpans(), {
    attributes: ['error.type', 'meanwhile.attempt', 'meanwhile.middleware.next_calls', 'meanwhile.outcome'],
  })
  return { ...(await timed), log, outline, requests: model.requests }
}

/** The events about calls: the kind of each event, its call, and the id it was started with or why it was discarded. */
export function toldOfCalls(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => {
    if (!('callId' in event)) return []
    const startedAs = event.type === 'tool-committed' && event.startedAs ? ` started as ${event.startedAs}` : ''
    const cause = event.type === 'tool-discarded' ? ` ${event.cause}` : ''
    return [`${event.type} ${event.callId}${startedAs}${cause}`]
  })
}

const work = z.object({ n: z.number(), ms: z.number().optional(), fails: z.number().optional() })

type Worked = Exclude<Effect, 'reversible'>

function worker(name: string, effect: Worked, note: (n: number) => void): Tool {
  return tool({
    name,
    description: name,
    input: work,
    effect,
    async execute({ n, ms = 0, fails = 0 }, { signal, attempt }) {
      note(n)
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, ms)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          reject(signal.reason)
        })
      })
      if (attempt <= fails) throw new Error(`failure ${attempt}`)
      return `${name} ${n}`
    },
  }) as Tool
}
