/** Runs whose model calls a tool that starts with the path it reads. */

import { collect } from '@meanwhile/assemble/testing'
import { type AgentEvent, createAgent, type Message, type Middleware, type Tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { eagerTools, type Policy } from '../src/index.ts'
import { accounts } from './accounts.ts'
import { library, type page } from './library.ts'
import { toolOutline } from './outline.ts'
import { type Moment, sayDone, tellingModel } from './telling-model.ts'

/** A call of `read`, 100 ms between its deltas, sealed with the last one; the response ends 100 ms later. */
export function reading(
  deltas: readonly string[],
  { id = 'c1', final }: { id?: string; final?: string } = {},
): Moment[] {
  const end = deltas.length * 100
  return [
    [0, (to) => to.call(0, { id, name: 'read' })],
    ...deltas.map((delta, index): Moment => [(index + 1) * 100, (to) => to.call(0, { delta })]),
    [end, (to) => to.seal(0, final)],
    [end + 100, (to) => to.finish('tool-calls')],
  ]
}

export const DELTAS = ['{"path":"a', '.txt"', ',"from":', '7}']

interface Options {
  readonly responses?: readonly (readonly Moment[])[]
  readonly middleware?: readonly Middleware[]
  readonly tools?: readonly Tool[]
  readonly eager?: boolean
  readonly policy?: Policy
  readonly ms?: number
  readonly input?: typeof page
  readonly toolConcurrency?: number
  readonly maxSteps?: number
  readonly prepareInput?: (input: unknown) => unknown
}

/** A run in which the model calls `read`, and its result. */
export async function ran(options: Options = {}) {
  const {
    responses = [reading(DELTAS)],
    middleware = [],
    tools = [],
    eager = true,
    policy,
    ms,
    input,
    ...rest
  } = options
  const { log, contexts, read } = library({ ...(ms !== undefined && { ms }), ...(input && { input }) })
  const agent = createAgent({
    ...rest,
    model: tellingModel([...responses, sayDone]),
    tools: [read, ...tools],
    middleware: [...middleware, ...(eager ? [eagerTools(policy ? { policy } : {})] : [])],
  })
  const { events, result, error } = await played(collect(agent.stream('Go')))
  return { events, result, error, log, contexts, lines: toolOutline(events), results: resultsOf(result?.messages) }
}

export const resultsOf = (messages: readonly Message[] = []) =>
  messages.flatMap((message) =>
    message.role === 'tool' ? [[message.callId, ...message.content.map((part) => 'text' in part && part.text)]] : [],
  )

export const told = (events: readonly AgentEvent[]) => {
  const { calls, others } = accounts(events)
  return { calls, others }
}
