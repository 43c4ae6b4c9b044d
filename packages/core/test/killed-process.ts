/** A process whose run is killed: an agent with five tools that log what they do, and a model that streams slowly. */

import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, type Effect, tool } from '@meanwhile/core'
import { fileStore } from '@meanwhile/stores/file'
import { z } from 'zod'
import { startingEarly } from './early-calls.ts'

/** A line of the log: a tool's function was entered, or is done. */
export interface Deed {
  readonly tool: string
  readonly effect: Effect
  readonly key: string
  readonly attempt: number
  readonly at: 'start' | 'end'
}

export const EFFECTS: Readonly<Record<string, Effect>> = {
  look: 'read',
  list: 'read',
  put: 'idempotent',
  hold: 'reversible',
  send: 'external',
}

const SCRIPT = [
  respond(
    say('Let me look.'),
    call('look', { ms: 40 }, { id: 'a1' }),
    call('put', { ms: 60 }, { id: 'a2' }),
    call('list', { ms: 10 }, { id: 'a3' }),
    say('One moment.'),
  ),
  respond(
    call('hold', { ms: 50 }, { id: 'b1' }),
    wait(10),
    call('send', { ms: 80, to: 'one' }, { id: 'b2' }),
    call('look', { ms: 30 }, { id: 'b3' }),
    call('put', { ms: 20, n: 2 }, { id: 'b4' }),
  ),
  respond(
    call('send', { ms: 40 }, { id: 'c1' }),
    call('send', { ms: 40 }, { id: 'c2' }),
    call('list', { ms: 60 }, { id: 'c3' }),
  ),
  respond(say('All is done.')),
]

/** Starts all calls except external ones while the model is streaming. */
const early = startingEarly({ ceiling: 'reversible' })

/** The same in each process: the history decides which response comes next. */
export function agentIn(folder: string): Agent {
  const note = (deed: Deed) => appendFileSync(join(folder, 'log'), `${JSON.stringify(deed)}\n`)
  const tools = Object.entries(EFFECTS).map(([name, effect]) =>
    tool({
      name,
      description: name,
      input: z.looseObject({ ms: z.number() }),
      effect,
      ...(effect === 'reversible' && { compensate: () => undefined }),
      async execute({ ms, ...rest }, { attempt, idempotencyKey }) {
        const deed = { tool: name, effect, key: idempotencyKey, attempt }
        note({ ...deed, at: 'start' })
        await new Promise((resolve) => setTimeout(resolve, ms))
        note({ ...deed, at: 'end' })
        return `${name} ${JSON.stringify(rest)}`
      },
    }),
  )
  return createAgent({
    name: 'killed',
    model: {
      provider: 'scripted',
      id: 'scripted-1',
      stream(request) {
        const response = SCRIPT[request.messages.filter(({ role }) => role === 'assistant').length]
        return scriptedModel(response ? [response] : [], { pace: { firstToken: 20, betweenTokens: 3 } }).stream(request)
      },
    },
    tools,
    middleware: [early],
    checkpoints: fileStore(join(folder, 'checkpoints')),
  })
}

const [folder, id] = process.argv.slice(2)
if (process.send && folder !== undefined) {
  process.on('disconnect', () => process.exit())
  const agent = agentIn(folder)
  const run = id === undefined ? agent.stream('Go') : agent.resume(id)
  process.send({ id: run.id })
  run.result.then(
    () => process.disconnect(),
    () => process.disconnect(),
  )
}
