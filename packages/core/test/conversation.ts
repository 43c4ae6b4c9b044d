/** The agent of a conversation, and the messages and events of its runs. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { z } from 'zod'
import {
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type Checkpoint,
  createAgent,
  interrupt,
  type Middleware,
  type Tool,
  type ToolSchema,
  tool,
} from '../src/index.ts'
import { sleep } from './clock.ts'
import { settled as played } from './played-runs.ts'

export const anything = z.object({})

/** Takes this many milliseconds. */
export const working = (name: string, ms: number, effect: 'read' | 'external' = 'read') =>
  tool({
    name,
    description: name,
    input: anything,
    effect,
    async execute() {
      await sleep(ms)
      return `${name} is done`
    },
  }) as Tool

/** Asks for the answer, and returns it. */
export const asking = (name: string, answer?: ToolSchema) =>
  tool({
    name,
    description: name,
    input: anything,
    execute(_, { answers: [first] }) {
      if (first === undefined) throw interrupt({ what: name }, answer && { answer })
      return first
    },
  }) as Tool

export const said = (text: string, more = {}) => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
  ...more,
})

export const result = (callId: string, name: string) => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text: `${name} is done` }],
  output: `${name} is done`,
})

export const failure = (callId: string, name: string, text: string) => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text }],
  isError: true,
})

/** Without the run's id. */
export const bare = (events: readonly AgentEvent[]) => events.map(({ runId: _, ...event }) => event)

/** The type of an event, with the data that identifies it. */
export const brief = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => {
    if ('delta' in event || event.type.startsWith('tool-input')) return []
    const id = 'callId' in event ? event.callId : 'attempt' in event ? event.attempt : undefined
    return [id === undefined ? event.type : `${event.type} ${id}`]
  })

export const checkpointIn = (outcome: AgentResult | undefined): Checkpoint => {
  if (!outcome?.checkpoint) throw new Error('there is no checkpoint')
  return JSON.parse(JSON.stringify(outcome.checkpoint)) as Checkpoint
}

export async function interrupted(options: Partial<AgentOptions> = {}, id = 'r') {
  const hooks: string[] = []
  const counting: Middleware = {
    name: 'counting',
    beforeAgent: () => void hooks.push('beforeAgent'),
    beforeModel: () => void hooks.push('beforeModel'),
  }
  const model = scriptedModel([
    respond(say('Let me see', { deltas: 1 }), call('look', {}, { id: 'a' }), call('ask', {}, { id: 'b' })),
    respond(say('Well', { deltas: 1 })),
  ])
  const made = { model, tools: [working('look', 10), asking('ask')], middleware: [counting], ...options }
  const agent = createAgent(made)
  const { result, events } = await played(agent.stream('Go', { id }))
  return { agent, model, hooks, events, result, checkpoint: checkpointIn(result) }
}
