/** A model that stands still in the middle of a text. */

import type { Model } from '@meanwhile/core'

/** The same flow, but after this many deltas of text it waits. */
export async function* pausing(
  flow: ReturnType<Model['stream']>,
  after: number,
  wait: () => Promise<void>,
): ReturnType<Model['stream']> {
  for (let deltas = 0; ; ) {
    const step = await flow.next()
    if (step.done) return step.value
    yield step.value
    if (step.value.type === 'text-delta' && ++deltas === after) await wait()
  }
}
