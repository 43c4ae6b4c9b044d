/** One language model over several. */

import { Attempts } from '../../resilient/attempts.ts'
import type { AttemptRules, Models, SilenceLimits } from '../../resilient/options.ts'
import type { Model } from '../resolved-model.ts'
import { commonUrls } from './common-urls.ts'
import { joinedAnswer } from './joined-response.ts'
import type { Request } from './parts.ts'
import type { ShownPartsOptions } from './shown-parts.ts'
import { wholeAnswer } from './whole-answer.ts'

export type ModelRules = AttemptRules<Model> & SilenceLimits & ShownPartsOptions

/** A model over several, for somebody who watches each of them. */
interface Inside {
  /** The same model with each of its models watched. */
  watchedBy(watch: (model: Model) => Model): Model
  /** The longest silence before another response is requested, in milliseconds. */
  readonly silence: number
}

const insides: WeakMap<object, Inside> = new WeakMap()

/** `undefined` if it is not a model over several. */
export function modelsInside(model: object): Inside | undefined {
  return insides.get(model)
}

export function resilientModel(models: Models<Model>, rules: ModelRules): Model {
  const [{ provider, modelId }] = models
  const attempts = ({ abortSignal }: Request) => new Attempts(models, rules, abortSignal)
  const model: Model = {
    specificationVersion: 'v4',
    provider,
    modelId,
    get supportedUrls() {
      return commonUrls(models)
    },
    // JSON is read as one text, which cannot begin anew.
    doStream: (request) =>
      joinedAnswer(attempts(request), request, {
        ...rules,
        hold: rules.hold || request.responseFormat?.type === 'json',
      }),
    doGenerate: (request) => wholeAnswer(attempts(request), request),
  }
  insides.set(model, {
    watchedBy(watch) {
      const [first, ...others] = models
      return resilientModel([watch(first), ...others.map(watch)], rules)
    },
    silence: Math.max(rules.idle, rules.firstOutput),
  })
  return model
}
