/** An agent with a tool that asks, and a tool that looks. */

import { type ScriptedResponse, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, vi } from 'vitest'
import { z } from 'zod'
import { type AgentOptions, createAgent, interrupt, type Json, tool } from '../src/index.ts'

export const anything = z.record(z.string(), z.unknown())

type Options = Omit<AgentOptions, 'model'>

/** Call this at the top of a test file: each test has a fake clock and an empty log. */
export function askingAgent() {
  beforeEach(() => {
    vi.useFakeTimers()
    return () => vi.useRealTimers()
  })

  const did: string[] = []

  beforeEach(() => {
    did.length = 0
  })

  /** Asks once, and returns the answer. */
  const book = tool({
    name: 'book',
    description: 'Books',
    input: anything,
    execute: ({ what = 'it' }, { answers, attempt }) => {
      did.push(`book ${String(what)} ${attempt} ${JSON.stringify(answers)}`)
      if (answers.length === 0) throw interrupt({ book: what as Json })
      return `booked ${String(what)}: ${answers[0] as string}`
    },
  })

  const look = tool({
    name: 'look',
    description: 'Looks',
    input: anything,
    effect: 'read',
    async execute({ ms = 0 }, { attempt }) {
      did.push(`look ${attempt}`)
      if (Number(ms) > 0) await new Promise((resolve) => setTimeout(resolve, Number(ms)))
      did.push('looked')
      return 'seen'
    },
  })

  function agentOf(responses: readonly ScriptedResponse[], options: Options = {}) {
    const model = scriptedModel(responses)
    return { model, agent: createAgent({ model, name: 'travel', tools: [book, look], ...options }) }
  }

  return { did, book, look, agentOf }
}
