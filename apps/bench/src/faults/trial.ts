/** Runs a fault script once, and records all executions of its tools. Time is turns of the event loop: nothing waits for a clock. */

import { setImmediate as turn } from 'node:timers/promises'
import { assemble } from '@meanwhile/assemble'
import {
  type AgentResult,
  type AgentRun,
  createAgent,
  type Effect,
  interrupt,
  type Middleware,
  type Model,
  ModelError,
  map,
  type Tool,
  type ToolContext,
} from '@meanwhile/core'
import { z } from 'zod'
import { finish, type Moment } from './response.ts'
import type { Script } from './scripts.ts'

export interface Trial {
  readonly executions: readonly Execution[]
  /** What reversible calls have done and no undo has taken back. An undo goes by the input, as the deletion of a booking does. */
  readonly standing: ReadonlySet<string>
  /** What reversible calls have done. */
  readonly done: ReadonlySet<string>
  /** For each attempt, by call id: the input of each call when it closed, then when it was sealed. */
  readonly attempts: readonly ReadonlyMap<string, readonly Asked[]>[]
}

interface Asked {
  /** The step, and the arguments. */
  readonly what: string
}

interface Execution extends Asked {
  readonly effect: Effect
  /** A call with these arguments had been sealed by then. */
  readonly sealed: boolean
  /** The model was streaming. */
  readonly early: boolean
}

export interface TrialOptions {
  readonly effect: Effect
  readonly turns: number
  /** The outermost middleware. */
  readonly outermost?: Middleware
}

const ANYTHING = z.record(z.string(), z.unknown())
const NEEDED = z.object({ n: z.number(), besides: z.string() })

/** Runs the script to its end, however it ends; `executor` starts tools early; without it nothing does. */
export async function trial(
  script: Script,
  { effect, turns, outermost }: TrialOptions,
  executor?: Middleware,
): Promise<Trial> {
  const executions: Execution[] = []
  const attempts: Map<string, Asked[]>[] = []
  const sealed = new Set<string>()
  const standing = new Set<string>()
  const done = new Set<string>()
  const abort = new AbortController()
  let step = 1
  let speaking = 0

  const { tool: does = 'works', needs = false, fillsIn = false } = script
  /** The part of the input that counts: what a tool may start with, and for a `read` what the model wrote. */
  const asked = (input: unknown, effect?: Effect) =>
    whatOf(step, needs || (fillsIn && effect === 'read') ? { n: Object(input).n } : input)
  const working = (effect: Effect): NonNullable<Tool['execute']> =>
    async function execute(input, { answers }) {
      if (does === 'asks' && answers.length === 0) throw interrupt('Go on?')
      const what = asked(input, effect)
      executions.push({ what, effect, sealed: sealed.has(what), early: speaking > 0 })
      for (let left = turns; left > 0; left--) await turn()
      if (does === 'hangs') await new Promise(() => undefined)
      if (effect === 'reversible') for (const set of [standing, done]) set.add(JSON.stringify(input))
      if (does === 'fails' || (does === 'throws' && effect === tools[0]?.effect)) throw new Error('failed')
      return 'done'
    }

  const time = () => z.string().default(() => (speaking > 0 ? 'during the response' : 'after the response'))
  const filledIn = fillsIn ? z.object({ n: z.number(), time: time() }) : ANYTHING
  const schema = needs ? NEEDED : filledIn
  const made = (name: string, effect: Effect, execute = working(effect)): Tool => ({
    name,
    description:
      'Accepts anything, so that only the executor prevents wrong arguments, unless the script needs a schema.',
    input: schema,
    effect,
    ...(effect === 'reversible' && { compensate: (input) => void standing.delete(JSON.stringify(input)) }),
    ...(needs && (effect === 'read' || effect === 'calls') && { needs: ['n'] }),
    execute,
  })
  async function callsBoth(input: unknown, context: ToolContext): Promise<string> {
    for (const name of ['part', 'deed']) await passedOn(name, input, context)
    if (does === 'throws') throw new Error('failed')
    return 'done'
  }
  const passesOn: Tool['execute'] = (input, context) => passedOn('part', input, context)
  const tools =
    effect === 'calls'
      ? [made('work', effect, callsBoth), made('part', 'read'), made('deed', 'external')]
      : [made('work', effect, does === 'passes on' ? passesOn : undefined), made('part', effect)]

  /** Receives the model's events before all other middleware. */
  const witness: Middleware = {
    name: 'witness',
    async *wrapModel(request, next, run) {
      step = run.step
      const said = new Map<string, Asked[]>()
      attempts.push(said)
      speaking++
      try {
        return yield* map(next(request), (event) => {
          if (event.type !== 'tool-input-closed' && event.type !== 'tool-call') return event
          const what = asked(event.call.input)
          said.set(event.call.id, [...(said.get(event.call.id) ?? []), { what }])
          if (event.type === 'tool-call') sealed.add(what)
          return event
        })
      } finally {
        speaking--
      }
    },
  }

  const runs: AgentRun[] = []
  const cancel = () => void runs[0]?.cancel({ at: 'now' })
  const [model, other] = models(script, { abort: () => abort.abort(), cancel })
  const agent = createAgent({
    model,
    tools,
    ...(does === 'hangs' && { grace: 1 }),
    middleware: [
      ...(outermost ? [outermost] : []),
      ...(script.again ? [again(script.again === 'failover' ? other : undefined)] : []),
      ...(executor ? [executor] : []),
      ...(script.guard ? [{ name: 'guard', ...script.guard }] : []),
      witness,
    ],
  })
  // The script decides how it ends; that is not counted.
  const ended = (run: AgentRun): Promise<AgentResult | undefined> => {
    runs.push(run)
    return run.result.catch(() => undefined)
  }
  let result = await ended(agent.stream('Go.', { signal: abort.signal }))
  // With the rules of others some runs would ask forever.
  for (let left = 3; left > 0 && result && result.status !== 'completed'; left--) {
    const { checkpoint, interrupts = [] } = result
    result = await ended(agent.resume(checkpoint, Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))))
  }
  return { executions, standing, done, attempts }
}

async function passedOn(name: string, input: unknown, { run, callId }: ToolContext): Promise<unknown> {
  return (await run?.callTool({ type: 'tool-call', id: `${callId}/${name}`, name, input }))?.output
}

function whatOf(step: number, input: unknown): string {
  return `${step} ${JSON.stringify(input)}`
}

/** Two models that share the script: each request gets the next response, from either model. */
function models(
  { responses, abortAt, cancelAt }: Script,
  { abort, cancel }: { readonly abort: () => void; readonly cancel: () => void },
): readonly [Model, Model] {
  const left = [...responses]
  let first = true
  const model = (id: string): Model => ({
    provider: 'fault',
    id,
    async *stream(request) {
      const moments = left.shift() ?? DONE
      const isFirst = first
      first = false
      async function* paced(): AsyncGenerator<Moment> {
        for (const [at, moment] of moments.entries()) {
          await turn()
          if (isFirst && at === abortAt) abort()
          if (isFirst && at === cancelAt) cancel()
          request.signal.throwIfAborted()
          yield moment
        }
      }
      return yield* assemble(
        request,
        paced(),
        (moment, to) => moment(to),
        (thrown) => (thrown instanceof ModelError ? thrown : undefined),
      )
    },
  })
  return [model('one'), model('other')]
}

const DONE: readonly Moment[] = [(to) => to.text('Done.'), finish('stop')]

/** Repeats a request whose response broke off: with the same model, or with another. */
function again(other: Model | undefined): Middleware {
  return {
    name: 'again',
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
        yield { type: 'attempt-failed', error, next: other ? 'fallback' : 'retry' }
        return yield* next(other ? { ...request, model: other } : request)
      }
    },
  }
}
