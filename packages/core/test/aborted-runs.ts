/** Tools of runs that end early, and how such a run ends. */

import { collect } from '@meanwhile/assemble/testing'
import { vi } from 'vitest'
import { z } from 'zod'
import {
  AgentError,
  type AgentEvent,
  type AgentRun,
  type Middleware,
  map,
  type ToolContext,
  tool,
} from '../src/index.ts'

export const forever = () => new Promise<never>(() => undefined)

/** Rejects with the signal's reason, this many milliseconds after it aborts. */
export function heeds(signal: AbortSignal, ms = 0): Promise<never> {
  return new Promise((_, reject) => {
    const leave = () => (ms > 0 ? setTimeout(() => reject(signal.reason), ms) : reject(signal.reason))
    signal.addEventListener('abort', leave, { once: true })
  })
}

export function toolOf(name: string, execute: (context: ToolContext) => unknown) {
  return tool({ name, description: `It is ${name}.`, input: z.object({}), execute: (_, context) => execute(context) })
}

export const quick = toolOf('quick', () => 'done')

/** The present outcome of a promise, without waiting for it. */
export function watch<T>(promise: Promise<T>) {
  const seen: { at?: number; value?: T; error?: unknown } = {}
  const start = performance.now()
  promise.then(
    (value) => Object.assign(seen, { value, at: performance.now() - start }),
    (error: unknown) => Object.assign(seen, { error, at: performance.now() - start }),
  )
  return seen
}

/** Starts sealed calls while the model streams, and calls the model again when it fails. */
export const earlyAndAgain: Middleware = {
  name: 'earlyAndAgain',
  async *wrapModel(request, next, run) {
    for (;;) {
      try {
        return yield* map(next(request), (event) => {
          if (event.type === 'tool-call') run.callTool(event.call).catch(() => undefined)
          return event
        })
      } catch (error) {
        if (run.signal.aborted) throw error
      }
    }
  },
}

export class Fatal extends AgentError {
  override readonly name: string = 'Fatal'
}

export async function settled(run: AgentRun, ms: number) {
  const reading = collect<AgentEvent, unknown>(run)
  const seen = watch(reading)
  await vi.advanceTimersByTimeAsync(ms)
  return seen.value ?? { events: [], error: 'it is still going on' }
}
