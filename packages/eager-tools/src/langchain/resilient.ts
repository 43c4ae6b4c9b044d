/** `resilient()` for LangChain: a response that breaks off is repeated and joined inside its model call. */

import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { ConfigError, checkOptions } from '@meanwhile/core'
import {
  ATTEMPT_OPTIONS,
  type AttemptOptions,
  type FinishOptions,
  finishesOf,
  modelsOf,
  rulesOf,
} from '../resilient/options.ts'
import { ResilientModel } from './resilient/resilient-model.ts'

/** The options of `resilient()` in LangChain. */
export interface ResilientOptions extends AttemptOptions<BaseChatModel>, FinishOptions {}

/**
 * Returns one chat model over several, which repeats a response that breaks off and joins the two:
 *
 * ```ts
 * const model = resilient([new ChatOpenAI({ model: 'gpt-5' }), new ChatAnthropic({ model: 'claude-sonnet-4-5' })])
 * const agent = createAgent({ model, tools })
 * ```
 *
 * Text and reasoning are shown at once, and calls when their response has ended well, so that an agent executes each call
 * once. The models inside always stream. An attempt fails with a thrown error, and if its stream is silent, ends without a
 * finish reason, or with the finish reasons `error` and `interrupted`. If all fail, the error is a
 * {@link ResilientError}.
 *
 * For `langchain` 1.5 or newer.
 *
 * @throws {ConfigError} There is no model, or an option is wrong.
 */
export function resilient(models: readonly BaseChatModel[], options: ResilientOptions = {}): BaseChatModel {
  checkOptions<ResilientOptions>('resilient', options, { ...ATTEMPT_OPTIONS, finishes: '' })
  return new ResilientModel({ ...rulesOf(options), given: modelsOf(models, checked), finishes: finishesOf(options) })
}

function checked(model: BaseChatModel): BaseChatModel {
  if (typeof model === 'object' && '_streamResponseChunks' in model) return model
  throw new ConfigError('models', "must be chat models: await initChatModel('openai:gpt-5') instead of a name")
}
