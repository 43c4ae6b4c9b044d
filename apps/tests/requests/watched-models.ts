/** The scripted models that tests have made. */

import type { ScriptedModel } from '@meanwhile/assemble/testing'

// Some tests show that nothing keeps a model, and others that nothing grows.
let made: WeakRef<ScriptedModel>[] = []

/** How many models there may be before those that are gone are removed. */
let most = 100

/** Called for each model that a test makes: `vitest.config.ts` wraps `scriptedModel`. */
export function watched(model: ScriptedModel): ScriptedModel {
  if (made.length >= most) {
    made = made.filter((ref) => ref.deref() !== undefined)
    most = Math.max(100, 2 * made.length)
  }
  made.push(new WeakRef(model))
  return model
}

/** The models since the last call, as far as something keeps them. */
export function modelsMade(): readonly ScriptedModel[] {
  return made.splice(0).flatMap((ref) => ref.deref() ?? [])
}
