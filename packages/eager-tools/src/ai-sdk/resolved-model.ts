/** A model of the current version from what the AI SDK accepts as one. */

import { gateway, type LanguageModel, wrapLanguageModel } from 'ai'

/** A language model of the current version. */
export type Model = Extract<LanguageModel, { readonly specificationVersion: 'v4' }>

/** Any language model that is not a name. */
type AnyModel = Exclude<LanguageModel, string>

/** Names are resolved and models of older versions converted as in the SDK. */
export function resolvedModel(model: LanguageModel): Model {
  if (typeof model === 'string')
    return resolvedModel((globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway).languageModel(model) as AnyModel)
  // Middleware is what makes the SDK convert a model.
  return isOld(model) ? wrapLanguageModel({ model, middleware: [] }) : model
}

function isOld(model: AnyModel): model is Exclude<AnyModel, Model> {
  return model.specificationVersion === 'v2' || model.specificationVersion === 'v3'
}
