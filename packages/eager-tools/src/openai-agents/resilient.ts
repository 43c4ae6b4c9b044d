/** `resilient()` for the OpenAI Agents SDK: a response that breaks off is repeated and joined inside its turn. */

import { ConfigError, checkOptions } from '@meanwhile/core'
import type { Model } from '@openai/agents'
import {
  ATTEMPT_OPTIONS,
  type AttemptOptions,
  type FinishOptions,
  finishesOf,
  modelsOf,
  rulesOf,
} from '../resilient/options.ts'
import { resilientModel } from './resilient/resilient-model.ts'

/** The options of `resilient()` in the OpenAI Agents SDK. */
export interface ResilientOptions extends AttemptOptions<Model>, FinishOptions {}

/**
 * Returns one model over several, which repeats a response that breaks off and joins the two:
 *
 * ```ts
 * const model = resilient([new OpenAIResponsesModel(client, 'gpt-5'), other])
 * const agent = new Agent({ name: 'Travel', model, tools })
 * ```
 *
 * Text is shown at once, and the SDK gets one response, so that it executes each call once. An attempt fails with a thrown
 * error, and if its stream is silent or ends before the response has. If all fail, the error is a {@link ResilientError},
 * which the SDK's own `retry` does not repeat. A request of a conversation that the provider stores is not repeated.
 *
 * For `@openai/agents` 0.20.
 *
 * @throws {ConfigError} There is no model, or an option is wrong.
 */
export function resilient(models: readonly Model[], options: ResilientOptions = {}): Model {
  checkOptions<ResilientOptions>('resilient', options, { ...ATTEMPT_OPTIONS, finishes: '' })
  return resilientModel({ ...rulesOf(options), given: modelsOf(models, checked), finishes: finishesOf(options) })
}

function checked(model: Model): Model {
  if (typeof model === 'object' && 'getStreamedResponse' in model) return model
  throw new ConfigError('models', "must be models: await new OpenAIProvider().getModel('gpt-5') instead of a name")
}
