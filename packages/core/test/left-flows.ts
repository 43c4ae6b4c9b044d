/** Slow models and tools, for wraps that leave them or call them again. */

import { vi } from 'vitest'
import {
  type AssistantMessage,
  type Flow,
  type Middleware,
  type Model,
  ModelError,
  type ModelEvent,
} from '../src/index.ts'
import { answer } from './messages.ts'

export const pause = (ms: number, signal?: AbortSignal) =>
  new Promise((resolve, reject) => {
    setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => reject(signal.reason))
  })

/** Runs to the end on the fake clock. */
export async function ran<Result>(running: Promise<Result>): Promise<Result> {
  await vi.runAllTimersAsync()
  return running
}

/** Retries until the model answers. */
export const again: Middleware = {
  name: 'again',
  async *wrapModel(request, next) {
    for (;;) {
      try {
        return yield* next(request)
      } catch (error) {
        if (!(error instanceof ModelError)) throw error
      }
    }
  },
}

/** A model that streams every 100 ms, and logs when it is aborted and when it has ended. */
export function talking(seen: string[], name = 'model'): Model {
  return {
    provider: 'own',
    id: name,
    async *stream({ signal }): Flow<ModelEvent, AssistantMessage> {
      signal.addEventListener('abort', () => void seen.push(`${name} aborted`))
      try {
        for (let n = 1; n <= 3; n++) {
          await pause(100, signal)
          yield { type: 'text-delta', delta: `${n}` }
        }
        return answer('123')
      } finally {
        seen.push(`${name} finally`)
      }
    },
  }
}
