/** An agent whose tools log what they do, and its interrupted and killed runs. */

import { call, end, respond, type ScriptedResponse, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, vi } from 'vitest'
import { z } from 'zod'
import {
  type AgentOptions,
  type Checkpoint,
  createAgent,
  type Effect,
  interrupt,
  memoryStore,
  type Tool,
  tool,
} from '../src/index.ts'
import { sleep } from './clock.ts'
import { played, settled } from './played-runs.ts'

export const anything = z.record(z.string(), z.unknown())

/** Call this at the top of a test file: each test has a fake clock and an empty log. */
export function travelAgent() {
  const did: string[] = []

  beforeEach(() => {
    did.length = 0
    vi.useFakeTimers()
    return () => vi.useRealTimers()
  })

  /** Works for this many milliseconds. */
  const worker = (
    name: string,
    effect: Effect,
    more: Omit<Partial<Tool<Record<string, unknown>>>, 'needs' | 'execute'> = {},
  ) =>
    tool({
      name,
      description: name,
      input: anything,
      effect,
      ...(effect === 'reversible' && { compensate: () => void did.push(`undid ${name}`) }),
      async execute({ ms = 0 }, { attempt, idempotencyKey }) {
        did.push(`${name} ${attempt}`)
        keys.set(name, [...(keys.get(name) ?? []), idempotencyKey])
        if (Number(ms) > 0) await sleep(Number(ms))
        return `${name} done`
      },
      ...more,
    })

  const keys = new Map<string, string[]>()

  const book = tool({
    name: 'book',
    description: 'Books',
    input: anything,
    execute: (_, { answers, attempt }) => {
      did.push(`book ${attempt} ${JSON.stringify(answers)}`)
      if (answers.length === 0) throw interrupt('really?')
      return `booked: ${answers[0] as string}`
    },
  })

  const all = [
    book,
    worker('read', 'read'),
    worker('put', 'idempotent'),
    worker('hold', 'reversible'),
    worker('send', 'external'),
  ]

  function agentOf(responses: readonly ScriptedResponse[], options: Omit<AgentOptions, 'model'> = {}) {
    const model = scriptedModel(responses)
    return { model, agent: createAgent({ model, name: 'travel', tools: all, ...options }) }
  }

  /** An interrupted run, with its checkpoint as read from a file. */
  async function interrupted(options: Omit<AgentOptions, 'model'> = {}) {
    const { agent } = agentOf([respond(call('book'), end({ usage: { inputTokens: 3 } }))], options)
    const { result } = await played(agent.stream('Go'))
    return { result, checkpoint: JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint }
  }

  /** What a store contained this many milliseconds after a run began, as after a kill. */
  async function killed(
    responses: readonly ScriptedResponse[],
    after: number,
    options: Omit<AgentOptions, 'model'> = {},
  ) {
    const checkpoints = memoryStore()
    const { agent } = agentOf(responses, { checkpoints, ...options })
    const controller = new AbortController()
    const run = agent.stream('Go', { signal: controller.signal })
    await vi.advanceTimersByTimeAsync(after)
    const stored = await checkpoints.load(run.id)
    controller.abort()
    const aborted = await settled(run)
    expect(aborted.error).toMatchObject({ name: 'AbortError' })
    // An abort saves only its undos, and a killed process does not even save those.
    const { calls, status } = stored as Checkpoint
    expect(await checkpoints.load(run.id)).toMatchObject({ calls, status })
    const left = memoryStore()
    await left.save(run.id, stored as Checkpoint, 0)
    did.length = 0
    return { checkpoints: left, id: run.id, stored: stored as Checkpoint }
  }

  return { did, keys, worker, book, all, agentOf, interrupted, killed }
}
