/** Asks again, without a format, if a provider cannot enforce the schema of an output. */

import {
  type AssistantMessage,
  type Flow,
  type Model,
  ModelError,
  type ModelEvent,
  type ModelRequest,
} from '@meanwhile/core'
import { branded, withOutputTool } from '@meanwhile/core/calls'

/**
 * Returns the same model with a second try: if the provider refuses the schema of an output as too large to enforce, the
 * request is sent again, and the output comes through a call. From then on all outputs of this schema do.
 */
export function withSecondTry(model: Model): Model {
  const refused = new WeakSet<object>()
  const trying: Model = branded('model', {
    ...model,
    structuredOutput: (output) => !refused.has(output.schema) && model.structuredOutput?.(output) === true,
    stream: (request) => (request.output ? stream(request, request.output.schema) : model.stream(request)),
  })
  return trying

  async function* stream(request: ModelRequest, schema: object): Flow<ModelEvent, AssistantMessage> {
    try {
      return yield* model.stream(request)
    } catch (error) {
      if (!isTooLarge(error)) throw error
      refused.add(schema)
    }
    return yield* model.stream(withOutputTool({ ...request, model: trying }))
  }
}

/**
 * The words of Anthropic and Gemini for a schema whose grammar is too large. It cannot be counted before: the limit is
 * not documented, and depends on the tools of the request.
 */
const TOO_LARGE =
  /\bcompiled grammar is too large\b|\bschema is too complex\b|\bgrammar compilation\b|\btoo many states for serving\b/i

/** Whether the request was refused because of its schema, before the response began. */
function isTooLarge(error: unknown): boolean {
  if (!(error instanceof ModelError) || error.status !== 400 || !TOO_LARGE.test(error.message)) return false
  return error.partial === undefined || error.partial.content.length === 0
}
