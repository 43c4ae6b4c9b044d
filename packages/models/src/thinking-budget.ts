/** Takes the budget for thinking out of a request that must not have one. */

import type { ModelSettings } from '@meanwhile/core'
import { optionNames, type ProviderOptions, type Target, thinkingOf } from './families.ts'

/**
 * The provider options of a request on Messages. With a fixed budget for thinking, the API requires that a turn with
 * results begins with a thought. One that another model began has none, so this request does not ask for thoughts.
 *
 * @param beginsWithThought - Whether the last message of the model does, or is not in a turn with results.
 */
export function withFittingBudget(
  target: Target,
  settings: ModelSettings,
  beginsWithThought: () => boolean,
): ProviderOptions {
  const { providerOptions = {} } = settings
  if (target.wire !== 'anthropic' || thinkingOf(target, settings) !== 'budget' || beginsWithThought())
    return providerOptions
  const read = optionNames(target, providerOptions).map((name) => {
    const { thinking: _, ...rest } = providerOptions[name] ?? {}
    return [name, rest] as const
  })
  return { ...providerOptions, ...Object.fromEntries(read) }
}
