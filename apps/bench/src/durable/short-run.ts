/** A run of three model calls, a `read` and an `external` call. Nothing in it waits, so its time is overhead. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, type Effect, type Message, type Model, type Tool, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'

export const SHAPE = '3 model calls, a read and an external call, eager tools, no delays'

export const PROMPT = 'How high is the water?'

export const ANSWER = 'The water is at 2 metres, and the harbour is warned.'

export const CALLS_PER_RUN = 2

export interface ShortRuns {
  readonly agent: Agent
  /** How often a tool was executed so far. */
  executions(): number
}

export function shortRuns(): ShortRuns {
  let executions = 0
  const place = (name: string, effect: Effect): Tool =>
    tool({
      name,
      description: 'Does it at a place.',
      input: z.object({ place: z.string() }),
      effect,
      execute() {
        executions++
        return 'done'
      },
    })
  const agent = createAgent({
    name: 'bench-durable',
    model: MODEL,
    tools: [place('measure', 'read'), place('warn', 'external')],
    middleware: [eagerTools()],
  })
  return { agent, executions: () => executions }
}

const SCRIPT = [
  respond(say('I measure at the harbour.'), call('measure', { place: 'the harbour' })),
  respond(say('I warn the people there.'), call('warn', { place: 'the harbour' })),
  respond(say(ANSWER)),
]

const MODEL: Model = {
  provider: 'scripted',
  id: 'scripted-1',
  stream: (request) => scriptedModel(SCRIPT.slice(stepOf(request.messages))).stream(request),
}

function stepOf(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === 'assistant').length
}
