/** The smallest middleware that call `next` a second time after a failure. */

import type { Middleware } from '../src/index.ts'

/** Repeats a model call. */
export const askAgain: Middleware = {
  name: 'again',
  async *wrapModel(request, next) {
    try {
      return yield* next(request)
    } catch {
      return yield* next(request)
    }
  },
}

/** Repeats a tool call. */
export const callAgain: Middleware = {
  name: 'again',
  async *wrapToolCall(call, next) {
    try {
      return yield* next(call)
    } catch {
      return yield* next(call)
    }
  },
}
