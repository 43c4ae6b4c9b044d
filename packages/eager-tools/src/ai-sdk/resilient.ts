/** `resilient()` for the AI SDK: a response that breaks off is repeated and joined inside its step. */

import { ConfigError, checkOptions } from '@meanwhile/core'
import type { LanguageModel } from 'ai'
import { ATTEMPT_OPTIONS, type AttemptOptions, modelsOf, rulesOf } from '../resilient/options.ts'
import { limitedModel } from './resilient/limited-model.ts'
import { resilientModel } from './resilient/resilient-model.ts'
import { type Model, resolvedModel } from './resolved-model.ts'

/** The options of `resilient()` in the AI SDK. */
export interface ResilientOptions extends AttemptOptions<Model> {
  /**
   * `live` shows the tool inputs of the first attempt as they stream. If it breaks off, they stay unfinished in the
   * message. Default: they are shown when their attempt has ended well.
   */
  readonly toolInput?: 'live'
}

/**
 * Returns one language model over several, which repeats a response that breaks off and joins the two:
 *
 * ```ts
 * const model = resilient([openai('gpt-5'), anthropic('claude-sonnet-4-5')])
 * const result = streamText({ model, tools, prompt })
 * ```
 *
 * Text and reasoning are shown at once. Everything else, such as a call, waits until its response has ended well: the AI
 * SDK never gets a call of a broken response, and executes each call once. An attempt fails with a thrown error, an
 * `error` part, a stream that is silent or ends without a finish, and the finish reasons `error` and `interrupted`. If all
 * fail, the error is a {@link ResilientError}, which the SDK's own `maxRetries` does not repeat.
 *
 * For `ai` 7. Names of models and models of version 2 and 3 are accepted, as in the SDK.
 *
 * @throws {ConfigError} There is no model, or an option is wrong.
 */
export function resilient(models: readonly LanguageModel[], options: ResilientOptions = {}): Model {
  checkOptions<ResilientOptions>('resilient', options, { ...ATTEMPT_OPTIONS, toolInput: '' })
  const rules = rulesOf(options)
  const { toolInput } = options
  if (toolInput !== undefined && toolInput !== 'live') throw new ConfigError('toolInput', "must be 'live'")
  const given = modelsOf(models, resolvedModel)
  const [first, ...others] = given
  // Silence is an error below everything that watches the stream: a cancel from above would mean that nobody wants it.
  const limited = (model: Model) => limitedModel(model, rules)
  return resilientModel([limited(first), ...others.map(limited)], {
    ...rules,
    given,
    liveInput: toolInput === 'live',
  })
}
