/** The part of `resilient()` that `eager()` needs: how to watch a model over several. */

import type { Model } from '@openai/agents'
import type { Models } from '../../resilient/options.ts'

interface Inside {
  readonly models: Models<Model>
  /** The longest silence before another response is requested, in milliseconds. */
  readonly silence: number
}

const insides: WeakMap<Model, Inside> = new WeakMap()

/** `undefined` if it is not a model over several. */
export function modelsInside(model: Model): Inside | undefined {
  return insides.get(model)
}

export function setInside(model: Model, inside: Inside): void {
  insides.set(model, inside)
}
