/** The scripted models that tests have made. */

import { registerHooks } from 'node:module'
import type { ScriptedModel } from '@meanwhile/assemble/testing'

// Some tests show that nothing keeps a model, and others that nothing grows.
let made: WeakRef<ScriptedModel>[] = []

/** How many models there may be before those that are gone are removed. */
let most = 100

/** Called for each model that a test makes. */
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

/** What `@meanwhile/assemble/testing` exports as `scriptedModel` in tests. */
function watching(scriptedModel: string): string {
  return `import { scriptedModel as unwatched } from ${JSON.stringify(scriptedModel)}
    import { watched } from ${JSON.stringify(import.meta.url)}
    export const scriptedModel = (...given) => watched(unwatched(...given))`
}

const TESTING = import.meta.resolve('@meanwhile/assemble/testing')

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    if (context.parentURL !== TESTING || !specifier.endsWith('/scripted-model.ts')) return found
    return { url: `data:text/javascript,${encodeURIComponent(watching(found.url))}`, shortCircuit: true }
  },
})
