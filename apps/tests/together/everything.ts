/** Runs that emit every type of event, with a mark for each kind of content at its real place. */

import { call, fail, respond, type ScriptResponse, say, scriptedModel, think, wait } from '@meanwhile/assemble/testing'
import {
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  agentTool,
  ConfigError,
  createAgent,
  interrupt,
  type Middleware,
  type Tool,
  tool,
} from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { retryModel } from '@meanwhile/middleware'
import { z } from 'zod'
import type { Content } from './protection.ts'

/** Whether the events are those of the agent itself, or of one inside its call. */
export type Place = 'own' | 'inside'

/** How long content is in these runs. */
export type Length = 'short' | 'long'

/** The limit in the runs with long content. */
export const LIMIT = 1_000

/** The content of a kind: its mark, and in long content enough dots that it is over the limit. */
export const marked = (content: Content, length: Length = 'short'): string =>
  `mark_${content}${length === 'long' ? '.'.repeat(2 * LIMIT) : ''}`

/** What surrounds the agent: its first middleware, and its options. */
export interface Around extends Pick<AgentOptions, 'outputLimits' | 'inputLimits' | 'telemetry'> {
  readonly protecting?: readonly Middleware[]
  /** Called with each event, when the reader gets it. */
  readonly told?: (event: AgentEvent) => void
}

export interface Seen {
  readonly events: readonly AgentEvent[]
  readonly results: readonly AgentResult[]
}

/** What one of these runs needs. */
interface Scene {
  readonly script: readonly ScriptResponse[]
  readonly options?: Omit<AgentOptions, 'model'>
  /** The type of the event after which it is cancelled. */
  readonly cancelAfter?: AgentEvent['type']
}

/** Runs everything in an agent, or in one inside its call: then only the events of that one are returned. */
export async function everything(around: Around, place: Place, length: Length = 'short'): Promise<Seen> {
  const ran = await Promise.all(
    [answering(length), asking(length), cancelled()].map((one) => played(one, around, place, length)),
  )
  const [events, results] = [ran.flatMap((one) => one.events), ran.flatMap((one) => one.results)]
  return { events: place === 'own' ? events : events.filter(({ path }) => path), results }
}

async function played(
  scene: Scene,
  { protecting = [], told, ...around }: Around,
  place: Place,
  length: Length,
): Promise<Seen> {
  const { script, options = {}, cancelAfter } = scene
  const { middleware = [] } = options
  const own = place === 'own'
  const worker = createAgent({
    name: 'worker',
    description: 'Works.',
    model: scriptedModel(script),
    ...options,
    ...(own && around),
    middleware: [...(own ? protecting : []), ...middleware],
  })
  const agent = own
    ? worker
    : createAgent({
        ...around,
        model: scriptedModel([respond(call('worker', { request: marked('user', length) })), respond(say('Done'))]),
        tools: [agentTool(worker) as Tool],
        middleware: protecting,
      })
  const events: AgentEvent[] = []
  const results: AgentResult[] = []
  let run = agent.stream(marked('user', length))
  for (;;) {
    try {
      for await (const event of run) {
        events.push(event)
        told?.(event)
        if (event.type === cancelAfter && own === !event.path) void run.cancel()
      }
    } catch (error) {
      // A question over the limit throws where it is asked.
      if (error instanceof ConfigError && error.option === 'interrupt') return { events, results }
      throw error
    }
    const result = await run.result
    results.push(result)
    if (result.status !== 'interrupted') return { events, results }
    run = agent.resume(result.checkpoint, Object.fromEntries(result.interrupts.map(({ id }) => [id, 'Yes'])))
  }
}

/** An answer after a failed attempt, an early call that is discarded, work in the background, and a rejection. */
function answering(length: Length): Scene {
  const m = (content: Content) => marked(content, length)
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ key: z.string(), n: z.number() }),
    effect: 'read',
    needs: ['key'],
    async *execute(_, { run, rest }) {
      await rest
      run?.emit({ name: 'told', data: m('custom') })
      yield { message: m('progress') }
      return { found: m('result') }
    },
  })
  const job = tool({
    name: 'job',
    description: 'Works.',
    input: z.object({}),
    background: true,
    execute: () => m('background'),
  })
  const telling: Middleware = {
    name: 'telling',
    beforeModel({ messages }, run) {
      if (run.step === 1) run.warn({ code: 'told', message: m('warning') })
      // The same history, as a hook that changes it returns it.
      return { messages: [...messages] }
    },
    beforeFinalAnswer(_, run) {
      return run.step === 2 ? { accept: false, feedback: m('feedback') } : undefined
    },
  }
  const said = [think(m('reasoning')), say(m('text'))]
  return {
    script: [
      respond(...said, call('look', { key: m('input'), n: 1 }), fail({ message: m('error'), status: 503 })),
      respond(...said, call('look', { key: m('input'), n: 2 }), call('job')),
      respond(call('final_answer', { answer: m('answer') })),
      respond(call('final_answer', { answer: m('answer') })),
      // If it is over the limit of inputs.
      respond(call('final_answer', { answer: 'short' })),
    ],
    options: {
      output: z.object({ answer: z.string() }),
      tools: [look as Tool, job as Tool],
      middleware: [telling, retryModel({ maxRetries: 1 }), eagerTools()],
    },
  }
}

/** A tool that asks. */
function asking(length: Length): Scene {
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute: (_, { answers }) => answers[0] ?? interrupt(marked('question', length)),
  })
  return { script: [respond(call('ask')), respond(say('Done'))], options: { tools: [ask as Tool] } }
}

/** A run that is cancelled before the model has written anything. */
function cancelled(): Scene {
  return { script: [respond(wait(60_000), say('Late'))], cancelAfter: 'attempt-start' }
}
