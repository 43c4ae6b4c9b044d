/** One model over several. */

import type { Model, ModelRequest } from '@openai/agents'
import { Attempts } from '../../resilient/attempts.ts'
import { joinedEvents } from '../../resilient/joined-events.ts'
import type { AttemptRules, Models } from '../../resilient/options.ts'
import { ResilientError } from '../../resilient/resilient-error.ts'
import { setInside } from './inside.ts'
import { type LimitRules, limitedModel } from './limited-model.ts'
import { ShownEvents } from './shown-events.ts'

export type ModelRules = AttemptRules<Model> & LimitRules

export function resilientModel(rules: ModelRules): Model {
  const [given, ...others] = rules.given
  // Silence is an error below everything that watches the stream: a return from above would mean that nobody wants it.
  const limited = (model: Model) => limitedModel(model, rules)
  const models: Models<Model> = [limited(given), ...others.map(limited)]
  const attempts = (request: ModelRequest) => new Attempts(models, rulesFor(request, rules), request.signal)
  const { supportsPromptModelSelection } = given
  const model: Model = {
    ...(supportsPromptModelSelection !== undefined && { supportsPromptModelSelection }),
    getResponse: (request) => wholeResponse(attempts(request), request),
    getStreamedResponse: (request) => {
      // JSON is read as one text, which cannot begin a second time.
      const shown = new ShownEvents(rules.hold || request.outputType !== 'text')
      return joinedEvents(attempts(request), shown, (model) => model.getStreamedResponse(request))
    },
    // All attempts have failed. The SDK repeats neither an abort nor what is unsafe to repeat, but only an abort does not
    // claim that the provider may have accepted the request.
    getRetryAdvice: (asked) =>
      asked.error instanceof ResilientError ? { normalized: { isAbort: true } } : given.getRetryAdvice?.(asked),
  }
  setInside(model, { models, silence: Math.max(rules.idle, rules.firstOutput) })
  return model
}

async function wholeResponse(attempts: Attempts<Model>, request: ModelRequest): ReturnType<Model['getResponse']> {
  for (;;) {
    try {
      const response = await attempts.model.getResponse(request)
      if (attempts.count === 1) return response
      const meanwhile = { attempts: attempts.count, unknownUsage: attempts.count - 1 }
      return { ...response, providerData: { ...response.providerData, meanwhile } }
    } catch (error) {
      if (!attempts.failed(error, 0)) throw attempts.failure(error)
      await attempts.next()
    }
  }
}

/** The provider may have stored a request of its own conversation already, although its response broke off. */
function rulesFor({ conversationId }: ModelRequest, rules: ModelRules): ModelRules {
  return conversationId === undefined ? rules : { ...rules, retries: 0 }
}
