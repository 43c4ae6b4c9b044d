/** Middleware with faults, and the errors of the runs in which they are. */

import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware } from '../src/index.ts'
import { echo } from './tools.ts'

/** A tool step, then an answer. */
export const twoSteps = () => scriptedModel([respond(call('echo', { text: 'a' })), respond(say('done'))])

/** The error of a run of two steps with this middleware. */
export async function failureOf(middleware: Omit<Middleware, 'name'>): Promise<unknown> {
  const agent = createAgent({ model: twoSteps(), tools: [echo], middleware: [{ name: 'faulty', ...middleware }] })
  return (await collect(agent.stream('Go'))).error
}

export const oops = new Error('oops')

export const wrapHooks = ['wrapAgent', 'wrapModel', 'wrapToolCall'] as const

/** Wraps everything and keeps what it receives. */
export function watching(name: string, seen: unknown[]): Middleware {
  return {
    name,
    async *wrapAgent(setup, next) {
      try {
        return yield* next(setup)
      } catch (error) {
        seen.push(error)
        throw error
      }
    },
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch (error) {
        seen.push(error)
        throw error
      }
    },
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        seen.push(error)
        throw error
      }
    },
  }
}

export const good: Middleware = {
  name: 'good',
  beforeAgent: (setup) => ({ ...setup, instructions: 'Be good.' }),
  async *wrapAgent(setup, next) {
    return yield* next({ ...setup, instructions: 'Be good.' })
  },
  async *wrapModel(request, next) {
    return yield* next({ ...request, instructions: 'Be good.' })
  },
  async *wrapToolCall(call, next) {
    return yield* next({ ...call })
  },
}

/** The same middleware outside and inside of a faulty one. */
export const between = (faulty: Omit<Middleware, 'name'>): readonly Middleware[] => [
  { ...good, name: 'outside' },
  { name: 'faulty', ...faulty },
  { ...good, name: 'inside' },
]

/** The error of a run of two steps with these middleware, and what was requested by then. */
export async function endOf(middleware: readonly Middleware[]) {
  const model = twoSteps()
  const { error, result } = await collect(createAgent({ model, tools: [echo], middleware }).stream('Go'))
  return { error, result, requests: model.requests.length }
}
