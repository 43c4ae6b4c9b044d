/** Durable runs of an agent whose tools record their executions. */

import { call, respond, type ScriptResponse, say } from '@meanwhile/assemble/testing'
import { type Agent, type AgentOptions, createAgent, interrupt, type Tool, tool } from '@meanwhile/core'
import { beforeEach } from 'vitest'
import { z } from 'zod'
import { scripted, testRuns } from './runs.ts'

export const TWO_STEPS = [respond(call('look'), call('post')), respond(say('Done.'))]

export const QUESTION = [respond(call('ask')), respond(say('Thanks.'))]

/** Call this at the top of a test file: each test has its own tables and an empty list of executions. */
export function recordedRuns() {
  const here = testRuns()

  const { runsOf, work } = here

  const executed: string[] = []

  beforeEach(() => {
    executed.length = 0
  })

  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    effect: 'read',
    execute: () => {
      executed.push('look')
      return 'seen'
    },
  })

  const post = tool({
    name: 'post',
    description: 'Posts.',
    input: z.object({}),
    execute: () => {
      executed.push('post')
      return 'posted'
    },
  })

  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    answer: z.enum(['yes', 'no']),
    execute(_, { answers: [said] }) {
      if (typeof said !== 'string') return interrupt('Really?')
      executed.push(`ask ${said}`)
      return `They said ${said}.`
    },
  })

  /** Runs until the run is cancelled or the gate is opened. */
  function gate(name: string): { readonly tool: Tool; open(): void; readonly entered: Promise<void> } {
    let open = () => {}
    let enter = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const entered = new Promise<void>((resolve) => {
      enter = resolve
    })
    return {
      tool: tool({
        name,
        description: name,
        input: z.object({}),
        async execute(_, { signal }) {
          enter()
          await Promise.race([
            opened,
            new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
          ])
          executed.push(name)
          return 'through'
        },
      }),
      open: () => open(),
      entered,
    }
  }

  function agentOf(responses: readonly ScriptResponse[], options: Partial<AgentOptions> = {}): Agent {
    return createAgent({ name: 'clerk', model: scripted(...responses), tools: [look, post, ask], ...options })
  }

  return { here, runsOf, work, executed, look, post, ask, gate, agentOf }
}
