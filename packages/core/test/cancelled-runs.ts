/** Runs that a test cancels and resumes. */

import { getEventListeners } from 'node:events'
import { call, collect, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type Checkpoint,
  createAgent,
  type Effect,
  type Model,
  type Tool,
  type ToolContext,
  tool,
} from '../src/index.ts'

/** The response to each request depends on its history: a request that is repeated after a resume gets the same response. */
export function modelOf(responses: readonly ScriptResponse[]): Model & { readonly requests: number[] } {
  const requests: number[] = []
  return {
    provider: 'scripted',
    id: 'scripted-1',
    requests,
    stream(request) {
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      requests.push(turn)
      const response = responses[turn]
      if (!response) throw new Error(`no turn ${turn}`)
      return scriptedModel([response], { pace: { firstToken: 10, betweenTokens: 10 } }).stream(request)
    },
  }
}

export function toolOf(name: string, effect: Effect, execute: (context: ToolContext) => unknown): Tool {
  const made = tool({ name, description: name, input: z.object({}), effect, execute: (_, context) => execute(context) })
  return made as Tool
}

export const named = (...names: string[]) => names.map((name) => call(name, {}, { id: name, deltas: 1 }))

export function start(responses: readonly ScriptResponse[], options: Partial<AgentOptions> = {}) {
  const model = modelOf(responses)
  const agent = createAgent({ model, ...options })
  const controller = new AbortController()
  const run = agent.stream('Go', { signal: controller.signal })
  return { agent, model, run, reading: collect(run), controller }
}

type Started = ReturnType<typeof start>

export async function at(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}

/** The end of a run, with nothing of it left. */
export async function ended({ run, reading, controller }: Started) {
  await vi.runAllTimersAsync()
  const read = await reading
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  return { ...read, ...(read.result && { result: await run.result }) }
}

export async function resumed({ agent }: Pick<Started, 'agent'>, result: AgentResult | undefined, answers = {}) {
  const checkpoint = result?.checkpoint
  if (!checkpoint) throw new Error('there is no checkpoint')
  const stored = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
  expect(stored).toEqual(checkpoint)
  const reading = collect(agent.resume(stored, answers))
  await vi.runAllTimersAsync()
  return await reading
}

/** The transcript of the same run without disturbance. */
export async function undisturbed(responses: readonly ScriptResponse[], options: Partial<AgentOptions> = {}) {
  const running = createAgent({ model: modelOf(responses), ...options }).run('Go')
  await vi.runAllTimersAsync()
  return (await running).messages
}

/** One word per event, with its relevant data. */
export function brief(events: readonly AgentEvent[]): string[] {
  return events.map((event) => {
    const { type } = event
    if ('delta' in event) return `${type} ${event.attempt}`
    if (type !== 'custom' && 'callId' in event) return `${type} ${event.callId}${'rerun' in event ? ' rerun' : ''}`
    if (type === 'attempt-start') return `${type} ${event.attempt}`
    if (type === 'attempt-failed') return `${type} ${event.attempt} ${event.next}`
    if (type === 'step-start' || type === 'step-end')
      return `${type} ${event.step}${'resumed' in event ? ' resumed' : ''}`
    if (type === 'run-end') return `${type} ${event.result.status}`
    return 'resumed' in event ? `${type} resumed` : type
  })
}

export const briefly = (events: readonly AgentEvent[]) =>
  brief(events).filter((line) => !/delta|input|tool-call/.test(line))

export const answer = respond(say('All is done.'))

/** Call this at the top of a test file: each test has a fake clock and an empty log, and leaves no timer and no rejection. */
export function cancelledRuns() {
  unhandledRejections()

  beforeEach(() => {
    vi.useFakeTimers()
  })

  afterEach(() => {
    const timers = vi.getTimerCount()
    vi.useRealTimers()
    if (timers > 0) throw new Error(`${timers} timers are left`)
  })

  const log: string[] = []

  /** Takes this many milliseconds, and reacts to its signal. */
  function work(name: string, ms: number, effect: Effect = 'external'): Tool {
    return toolOf(name, effect, async ({ signal, attempt, idempotencyKey }) => {
      log.push(`${name} ${attempt} ${idempotencyKey.split('/').at(-3)}`)
      await sleep(ms, signal)
      return `${name} done`
    })
  }

  beforeEach(() => void log.splice(0))

  return { log, work }
}
