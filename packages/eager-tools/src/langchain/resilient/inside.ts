/** The part of `resilient()` that `eager()` needs: how to watch a chat model over several. */

import type { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import type { ChatModel } from '../library.ts'

/** Somebody who watches the response of one attempt. */
export interface Observer {
  readonly handler: BaseCallbackHandler
  failed(): void
}

/** Called for each attempt, with the model as the user has given it. */
export type Observe = (model: ChatModel) => Observer | undefined

interface Inside {
  /** The same model with each of its attempts observed. */
  observedBy(observe: Observe): Pick<ChatModel, 'invoke'>
  /** The longest silence before another response is requested, in milliseconds. */
  readonly silence: number
}

const insides: WeakMap<object, Inside> = new WeakMap()

/** `undefined` if it is not a model over several. */
export function modelsInside(model: object): Inside | undefined {
  return insides.get(model)
}

export function setInside(model: object, inside: Inside): void {
  insides.set(model, inside)
}
