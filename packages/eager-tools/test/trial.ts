/** One run of a scenario, with eagerTools or without, and all that can be seen of it. */

import { type AgentEvent, type AgentResult, createAgent, type Effect, type Run, type Tool, tool } from '@meanwhile/core'
import { collect } from '@meanwhile/core/testing'
import { vi } from 'vitest'
import { z } from 'zod'
import { eagerTools } from '../src/index.ts'
import { retrying } from './retrying.ts'
import { dawdling, editing, rejecting, type Scenario, told } from './scenario.ts'
import { tellingModel } from './telling-model.ts'

export interface Execution {
  readonly tool: string
  readonly effect: Effect
  /** As the schema gave it, and as the model wrote it. */
  readonly input: unknown
  readonly written: unknown
  readonly step: number
  /** Without the run's id. */
  readonly key: string
  succeeded: boolean
}

export interface Trial {
  readonly events: readonly AgentEvent[]
  readonly result?: AgentResult
  readonly error?: unknown
  readonly executions: readonly Execution[]
  /** The input of each call that was compensated. */
  readonly undone: readonly unknown[]
  readonly mostAtOnce: number
  /** Timers that were left when the run had settled, those of tools and schemas aside. */
  readonly timersLeft: number
}

const shape = z.object({
  n: z.number(),
  ms: z.number().default(0),
  fails: z.boolean().default(false),
  deaf: z.boolean().default(false),
})
type Input = z.infer<typeof shape>

const MIXED: readonly Effect[] = ['read', 'idempotent', 'external']

export async function trial(scenario: Scenario, eager: boolean): Promise<Trial> {
  const executions: Execution[] = []
  const undone: unknown[] = []
  const written = new Map<string, unknown>()
  const work = { atOnce: 0, most: 0, sleeping: 0 }

  const sleep = async (ms: number, signal?: AbortSignal) => {
    signal?.throwIfAborted()
    work.sleeping++
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms)
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
    }).finally(() => work.sleeping--)
  }
  const make = (name: string, effect: Effect | ((input: Input) => Effect), more: Partial<Tool<Input, string>> = {}) =>
    tool<Input, string>({
      name,
      description: name,
      input: shape,
      effect,
      async *execute(input, context) {
        const key = context.idempotencyKey.replace((context.run as Run).id, '')
        const execution = {
          tool: name,
          effect: typeof effect === 'function' ? effect(input) : effect,
          input,
          written: written.get(context.callId),
          step: (context.run as Run).step,
          key,
          succeeded: false,
        }
        executions.push(execution)
        work.most = Math.max(work.most, ++work.atOnce)
        try {
          if (name === 'scan') {
            yield { message: 'scanning', progress: 0.5 }
            context.run?.emit({ name: 'scanned', data: input.n })
          }
          if (input.ms > 0) await sleep(input.ms, input.deaf ? undefined : context.signal)
          if (input.fails) throw new Error(`${name} ${input.n} fails`)
          execution.succeeded = true
          return `${name} ${input.n}`
        } finally {
          work.atOnce--
        }
      },
      ...more,
    }) as Tool
  const tools = [
    make('look', 'read'),
    make('peek', 'read', { input: shape.refine(({ n }) => (n === 1 ? sleep(15).then(() => true) : true)) }),
    make('scan', 'read'),
    make('direct', 'read', { returnDirect: (output) => output.endsWith('2') }),
    make('put', 'idempotent'),
    make('move', 'reversible', { compensate: (input) => void undone.push(input) }),
    make('send', 'external'),
    make('mixed', ({ n }) => MIXED[n] ?? 'external'),
  ]

  const retry = retrying({ repeats: scenario.repeats, waitMs: scenario.waitMs })
  const agent = createAgent({
    model: tellingModel([
      ...told(scenario.responses),
      [
        [0, (to) => to.text('Done.')],
        [0, (to) => to.finish('stop')],
      ],
    ]),
    tools,
    toolConcurrency: scenario.toolConcurrency,
    maxSteps: scenario.maxSteps,
    middleware: [
      ...(scenario.late > 0 ? [dawdling(scenario.late)] : []),
      ...(scenario.retry === 'outside' ? [retry] : []),
      ...(eager ? [eagerTools()] : []),
      ...(scenario.retry === 'inside' ? [retry] : []),
      ...(scenario.edits ? [editing] : []),
      ...(scenario.rejects ? [rejecting()] : []),
      {
        name: 'noting',
        async *wrapToolCall(call, next) {
          written.set(call.id, call.input)
          yield { type: 'custom', name: 'passing', data: call.name }
          return yield* next(call)
        },
      },
    ],
  })

  let timersLeft = -1
  const run = agent.stream('Go')
  const settled = run.result.then(
    () => void (timersLeft = vi.getTimerCount() - work.sleeping),
    () => void (timersLeft = vi.getTimerCount() - work.sleeping),
  )
  const collected = collect(run)
  await emptyClock()
  await settled
  return { ...(await collected), executions, undone, mostAtOnce: work.most, timersLeft }
}

/** Runs the fake clock until nothing waits for it. Faster than vitest's own, which gives a real millisecond to each timer. */
async function emptyClock(): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve))
    if (vi.getTimerCount() === 0) return
    vi.advanceTimersToNextTimer()
  }
}
