/** What failed, once more: the smallest middlewares that ask `next` twice. */

import type { Middleware } from '../src/index.ts'

/** A model call. */
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

/** A tool call. */
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
