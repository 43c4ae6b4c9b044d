/**
 * A model for what a script cannot express: calls that are sealed late, or with other arguments than they closed with.
 */

import { type Assembler, assemble } from '@meanwhile/assemble'
import { type Model, ModelError, type ModelRequest } from '@meanwhile/core'
import { after } from './workshop.ts'

/**
 * At this many milliseconds of its response the model emits this. An error thrown here is the failure of the response.
 */
export type Moment = readonly [at: number, tell: (to: Assembler) => void]

/** The last response of a run with tools. */
export const sayDone: readonly Moment[] = [
  [0, (to) => to.text('Done.')],
  [0, (to) => to.finish('stop')],
]

/** Each request gets the next response; the last one is repeated. */
export function tellingModel(responses: readonly (readonly Moment[])[]): Model & { readonly requests: number } {
  let requests = 0
  return {
    provider: 'telling',
    id: 'telling-1',
    get requests() {
      return requests
    },
    async *stream(request) {
      return yield* telling(request, responses[Math.min(requests++, responses.length - 1)] ?? [])
    },
  }
}

/** One response. */
export function telling(request: ModelRequest, moments: readonly Moment[]): ReturnType<Model['stream']> {
  return assemble(
    request,
    pace(moments, request.signal),
    ([, tell], to) => tell(to),
    (thrown) => {
      if (!(thrown instanceof ModelError)) return undefined
      const { message, code, retryable } = thrown
      return { message, code, retryable }
    },
  )
}

async function* pace(moments: readonly Moment[], signal: AbortSignal): AsyncGenerator<Moment> {
  let time = 0
  for (const moment of moments) {
    if (moment[0] > time) await after(moment[0] - time, signal)
    time = Math.max(time, moment[0])
    yield moment
  }
}
